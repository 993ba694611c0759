"""Virtual time: it jumps, it is never late, it repeats itself, and it says when it would hang."""

from __future__ import annotations

import asyncio

import pytest

from simulator import virtual_time


def test_an_hour_passes_at_once_and_exactly() -> None:
    async def hour() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(hour()) == 3600.0


def test_timers_fire_in_their_order_however_they_were_started() -> None:
    async def main() -> list[tuple[float, str]]:
        loop, woken = asyncio.get_running_loop(), []

        async def sleeper(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            woken.append((loop.time(), name))

        async with asyncio.TaskGroup() as tasks:
            for name, seconds in (("late", 2.0), ("early", 0.5), ("middle", 1.0)):
                tasks.create_task(sleeper(name, seconds))
        return woken

    expected = [(0.5, "early"), (1.0, "middle"), (2.0, "late")]
    assert virtual_time.run(main()) == expected
    assert virtual_time.run(main()) == expected


def test_a_timeout_is_met_to_the_second_even_after_months() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(90 * 86_400.0)
        began = loop.time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.25):
                await loop.create_future()
        return loop.time() - began

    assert virtual_time.run(main()) == pytest.approx(0.25, abs=1e-6)


def test_waiting_for_what_can_never_come_is_told_instead_of_hanging() -> None:
    async def main() -> None:
        await asyncio.sleep(5)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(virtual_time.Standstill, match="every task waits for another"):
        virtual_time.run(main())


def test_a_fault_inside_comes_out_as_it_is() -> None:
    async def main() -> None:
        await asyncio.sleep(1)
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        virtual_time.run(main())

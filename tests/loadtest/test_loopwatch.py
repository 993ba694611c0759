"""How late the event loop ran, as the validity of a run is judged by it."""

from __future__ import annotations

import asyncio

import pytest

from loadtest.loopwatch import LoopWatch
from measurement.doubted import Stall
from simulator import virtual_time


def watched(*, seconds: float, stall: float) -> LoopWatch:
    """A loop that is idle but for one stall in its middle, in virtual time."""

    async def main() -> LoopWatch:
        loop, stood = asyncio.get_running_loop(), 0.0

        def stand_still() -> None:
            nonlocal stood
            stood = stall

        watch = LoopWatch(lambda: loop.time() + stood)
        watch.start()
        loop.call_later(seconds / 2, stand_still)
        await asyncio.sleep(seconds - stall)
        watch.stop()
        return watch

    return virtual_time.run(main())


def test_a_client_that_stood_still_for_a_second_of_a_minute_has_a_late_p99() -> None:
    lag = watched(seconds=60, stall=1.0).lag.freeze()

    assert lag.percentile(99) == pytest.approx(0.4, abs=0.05), "1 of 60 s: P99 is 0.6 s into it"
    assert lag.percentile(100) == pytest.approx(1.0, abs=0.03)
    assert lag.count == pytest.approx(60 / 0.02, rel=0.01), "a tick of every 20 ms, taken or not"


def test_a_client_that_never_stood_still_has_no_lag() -> None:
    assert watched(seconds=60, stall=0.0).lag.freeze().percentile(100) == pytest.approx(0, abs=1e-5)


def test_a_stall_that_lasts_until_the_end_counts_though_no_tick_came_after_it() -> None:
    async def main() -> LoopWatch:
        loop, stood = asyncio.get_running_loop(), 0.0
        watch = LoopWatch(lambda: loop.time() + stood)
        watch.start()
        await asyncio.sleep(2.0)
        stood = 0.5
        watch.stop()
        return watch

    lag = virtual_time.run(main()).lag.freeze()
    assert lag.percentile(100) == pytest.approx(0.5, abs=0.03)
    assert lag.count == pytest.approx(125, abs=3), "2.5 s of ticks, taken or not"


def test_a_stall_is_remembered_with_its_time_before_and_after_a_tick_has_told_of_it() -> None:
    async def main() -> tuple[list[Stall], list[Stall], list[Stall], float]:
        loop, stood = asyncio.get_running_loop(), 0.0
        watch = LoopWatch(lambda: loop.time() + stood)
        began = loop.time()
        watch.start()
        await asyncio.sleep(1.005)
        stood = 0.5
        at_once = watch.stalls(began + 1.1, began + 2.0)
        await asyncio.sleep(1.0)
        later = watch.stalls(began + 1.1, began + 2.0)
        elsewhere = watch.stalls(began + 1.6, began + 9.0)
        watch.stop()
        return at_once, later, elsewhere, began

    at_once, later, elsewhere, began = virtual_time.run(main())
    for [(since, until)] in (at_once, later):
        assert since - began == pytest.approx(1.01, abs=0.02)
        assert until - began == pytest.approx(1.51, abs=0.02)
    assert elsewhere == []

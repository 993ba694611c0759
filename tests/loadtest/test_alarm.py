"""An alarm rings once, when it is due: never before, and not when it was stopped or set anew."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from loadtest import alarm
from loadtest.alarm import FileAlarm, LoopAlarm, MakeAlarm

MAKES = [pytest.param(LoopAlarm, id="the event loop's")]
if sys.platform == "linux":
    MAKES.append(pytest.param(FileAlarm, id="the kernel's"))


@pytest.mark.parametrize("make", MAKES)
async def test_it_rings_once_and_never_early(make: MakeAlarm) -> None:
    rang: list[float] = []
    heard = asyncio.Event()

    def ring() -> None:
        rang.append(time.monotonic())
        heard.set()

    made = make(ring)
    due = time.monotonic() + 0.02
    made.set(0.02)
    async with asyncio.timeout(30):
        await heard.wait()
    await asyncio.sleep(0.05)  # a second one would come now
    made.stop()
    assert len(rang) == 1
    assert rang[0] >= due - 0.001  # asyncio's own timers round within their resolution


@pytest.mark.skipif(sys.platform != "linux", reason="timers to wait for are Linux's")
async def test_the_kernels_is_not_even_a_microsecond_early() -> None:
    rang: list[int] = []
    made = FileAlarm(lambda: rang.append(time.monotonic_ns()))
    for wait in (0.0, 0.0003, 0.001):
        due = time.monotonic_ns() + int(wait * 1e9)
        made.set(wait)
        async with asyncio.timeout(30):
            while not rang:  # noqa: ASYNC110 - as few turns of the loop as can be
                await asyncio.sleep(0)
        assert rang.pop() >= due
    made.stop()


@pytest.mark.parametrize("make", MAKES)
async def test_set_anew_it_forgets_the_moment_before_and_stopped_it_forgets_all(
    make: MakeAlarm,
) -> None:
    rang: list[int] = []
    made = make(lambda: rang.append(1))
    made.set(0.001)
    made.set(30.0)
    await asyncio.sleep(0.02)
    made.set(0.005)
    made.stop()
    made.stop()
    await asyncio.sleep(0.02)
    assert rang == []


def test_the_finest_there_is_is_taken() -> None:
    assert alarm.finest() is (FileAlarm if sys.platform == "linux" else LoopAlarm)

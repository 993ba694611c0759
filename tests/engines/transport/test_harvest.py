"""When sockets are read apart and when together, by a clock that the test moves."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest

from engines.transport.harvest import Harvest
from engines.transport.kernel_clock import KernelClock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="epoll is Linux's")

MILLI = 1_000_000


class Watched:
    """A stream that only notes how it was read."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.calls: list[str] = []
        self.spans: list[int] = []

    def apart(self, now: int) -> None:
        self.ours.recv(64)
        self.calls.append("apart")

    def together(self, now: int, since: int) -> None:
        self.ours.recv(64)
        self.calls.append("together")
        self.spans.append(now - since)

    async def say(self, times: int = 1) -> str:
        """Send so many packets, each when the one before was read; how the last one was read."""
        for _ in range(times):
            seen = len(self.calls)
            self.theirs.send(b"x")
            async with asyncio.timeout(20):
                while len(self.calls) == seen:  # noqa: ASYNC110 - no event tells of a read
                    await asyncio.sleep(0.0005)
        return self.calls[-1]

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


class Moved:
    """A monotonic clock that goes on by 0.1 ms at each reading, and by what the test adds."""

    def __init__(self) -> None:
        self.ns = 5_000 * MILLI

    def __call__(self) -> int:
        self.ns += MILLI // 10
        return self.ns


async def test_much_is_read_together_and_little_apart() -> None:
    clock, stream = Moved(), Watched()
    harvest = Harvest(KernelClock(clock))
    harvest.add(stream.ours.fileno(), stream)
    assert await stream.say(9) == "apart"  # the ninth waking is the eighth close one
    assert await stream.say(3) == "together"
    assert max(stream.spans) <= 5 * MILLI
    await asyncio.sleep(0.2)  # nothing comes for some turns
    assert await stream.say() == "apart"
    harvest.remove(stream.ours.fileno())
    stream.close()


async def test_wakings_far_between_stay_apart() -> None:
    clock, stream = Moved(), Watched()
    harvest = Harvest(KernelClock(clock))
    harvest.add(stream.ours.fileno(), stream)
    for _ in range(12):
        clock.ns += 2 * MILLI
        assert await stream.say() == "apart"
    harvest.remove(stream.ours.fileno())
    stream.close()


async def test_a_late_turn_reads_apart_and_one_after_many_late_ones_does_not() -> None:
    clock, stream = Moved(), Watched()
    harvest = Harvest(KernelClock(clock))
    harvest.add(stream.ours.fileno(), stream)
    await stream.say(12)
    found = []
    for _ in range(12):
        stream.theirs.send(b"x")
        seen = len(stream.calls)
        async with asyncio.timeout(20):
            while len(stream.calls) == seen:  # each turn is late, by this clock
                clock.ns += 10 * MILLI
                await asyncio.sleep(0.0005)
        found.append(stream.calls[-1])
    assert found[0] == "apart"
    assert found[-1] == "together"
    harvest.remove(stream.ours.fileno())
    stream.close()


async def test_a_socket_that_was_removed_is_not_read() -> None:
    stream, other = Watched(), Watched()
    harvest = Harvest(KernelClock())
    for one in (stream, other):
        harvest.add(one.ours.fileno(), one)
    harvest.remove(stream.ours.fileno())
    harvest.remove(stream.ours.fileno())
    stream.theirs.send(b"x")
    await other.say()
    assert stream.calls == []
    harvest.remove(other.ours.fileno())
    stream.close()
    other.close()

"""When sockets are read apart and when together, in turns and by a clock that the test moves."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from engines.transport.harvest import PAUSE, Harvest
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


class Turns:
    """An event loop that turns when it is told to, and its clock, which a turn costs 0.1 ms."""

    def __init__(self) -> None:
        self.ns = 5_000 * MILLI
        self.late = 0
        """ns by which a pause is overslept."""
        self.reader: Callable[[], None] | None = None
        self.due: tuple[int, Callable[[], None]] | None = None

    def __call__(self) -> int:
        self.ns += MILLI // 10
        return self.ns

    def add_reader(self, fd: int, callback: Callable[[], None]) -> None:
        self.reader = callback

    def remove_reader(self, fd: int) -> bool:
        was, self.reader = self.reader, None
        return was is not None

    def call_later(self, delay: float, callback: Callable[[], None]) -> Turns:
        self.due = (self.ns + round(delay * 1e9), callback)
        return self

    def cancel(self) -> None:
        self.due = None

    def turn(self, *, ready: bool) -> None:
        """Whatever is next: something to read, else the end of the pause."""
        if self.reader is not None:
            if ready:
                self.reader()
            return
        assert self.due is not None
        at, callback = self.due
        self.due = None
        self.ns = max(self.ns, at) + self.late
        callback()


class Scene:
    """One stream, read by one harvest."""

    def __init__(self) -> None:
        self.turns, self.stream = Turns(), Watched()
        self.harvest = Harvest(KernelClock(self.turns, lambda: self.turns.ns), self.turns)
        self.harvest.add(self.stream.ours.fileno(), self.stream)

    def say(self, times: int = 1) -> str:
        """Send so many packets, each when the one before was read; how the last one was read."""
        for _ in range(times):
            seen = len(self.stream.calls)
            self.stream.theirs.send(b"x")
            while len(self.stream.calls) == seen:
                self.turns.turn(ready=True)
        return self.stream.calls[-1]


@contextmanager
def scene() -> Iterator[Scene]:
    found = Scene()
    with found.stream.ours, found.stream.theirs:
        yield found
        found.harvest.remove(found.stream.ours.fileno())


def test_much_is_read_together_and_little_apart() -> None:
    with scene() as it:
        assert it.say(9) == "apart"  # the ninth waking is the eighth close one
        assert it.say(3) == "together"
        assert max(it.stream.spans) == pytest.approx(PAUSE * 1e9, abs=MILLI)
        for _ in range(10):  # nothing comes for some turns
            it.turns.turn(ready=False)
        assert it.say() == "apart"


def test_other_work_gets_its_turn_between_two_sockets() -> None:
    other = Watched()
    with scene() as it, other.ours, other.theirs:
        it.harvest.add(other.ours.fileno(), other)
        read: list[int] = []
        it.harvest.between = lambda: read.append(len(it.stream.calls) + len(other.calls))
        it.stream.theirs.send(b"x")
        other.theirs.send(b"x")
        it.turns.turn(ready=True)
        it.harvest.remove(other.ours.fileno())
    assert read == [1, 2]


def test_wakings_far_between_stay_apart() -> None:
    with scene() as it:
        for _ in range(12):
            it.turns.ns += 2 * MILLI
            assert it.say() == "apart"


def test_a_late_turn_reads_apart_and_one_after_many_late_ones_does_not() -> None:
    with scene() as it:
        it.say(12)
        it.turns.late = 10 * MILLI
        assert [it.say() for _ in range(12)] == ["apart"] * 3 + ["together"] * 9


def test_a_send_late_in_a_pause_ends_it_and_one_just_after_a_turn_does_not() -> None:
    with scene() as it:
        it.say(12)
        assert it.turns.due is not None
        paused_until = it.turns.due[0]
        it.harvest.beside()
        assert it.turns.due[0] == paused_until
        it.turns.ns += 3 * MILLI // 2
        it.stream.theirs.send(b"x")
        it.harvest.beside()
        assert it.turns.due[0] == it.turns.ns < paused_until
        seen = len(it.stream.calls)
        it.turns.turn(ready=True)
        assert it.stream.calls[seen:] == ["together"]


def test_a_socket_that_was_removed_is_not_read() -> None:
    other = Watched()
    with scene() as it, other.ours, other.theirs:
        it.harvest.add(other.ours.fileno(), other)
        for _ in range(2):
            it.harvest.remove(other.ours.fileno())
        other.theirs.send(b"x")
        it.say()
        assert other.calls == []

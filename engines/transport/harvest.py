"""Many sockets read in one turn of the event loop.

The kernel's stamps make a token's time independent of when it is read. So the sockets are in an
epoll of our own, and the event loop waits for that one. Where reads follow each other closely, what
comes is gathered for ``PAUSE`` and read together: waking up for each packet costs several times
what reading it does. Packets of one stream that come within one pause may be joined by the kernel,
which then knows the last one's time only; the pause is counted as their lag. Where a turn comes
late, and before a stream's first token, each event is read by itself instead; where turn after turn
is late, that would only make the next one later.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Protocol

from engines.transport.kernel_clock import KernelClock

PAUSE = 0.002
"""Seconds between two turns while much comes."""
_SOON = 1_000_000
"""ns since the last turn, after which a waking for another cause is used for the next one."""
_LATE = 5_000_000
"""ns since the last turn, after which more than one event may wait in a socket."""
_CLOSE = 1_000_000
"""ns between two wakings that follow each other closely."""
_HURRIED = 8
"""Close wakings in a row before turns are paused, and empty turns before they no longer are."""
_BEHIND = 4
"""Late turns in a row after which they are no exception any more."""
_MOST = 512
"""Sockets read in one turn."""


class Stream(Protocol):
    """What is to be read."""

    def apart(self, now: int) -> None:
        """Read what is there, each event by itself."""

    def together(self, now: int, since: int) -> None:
        """Read what has come since, in one go where that will do; times in ns."""


class Turns(Protocol):
    """Who says when: the event loop."""

    def add_reader(self, fd: int, callback: Callable[[], None]) -> None: ...

    def remove_reader(self, fd: int) -> bool: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer: ...


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None: ...


def _nothing() -> None:
    """Nothing is due."""


class Harvest:
    """Reads the sockets of one transport; ``turns`` is the running event loop if not given."""

    _turns: Turns

    def __init__(self, clock: KernelClock, turns: Turns | None = None) -> None:
        self._clock = clock
        self._given = turns
        self.between: Callable[[], None] = _nothing
        """Called between two sockets: what is due by then need not wait for all of them."""
        self._epoll = select.epoll()
        self._streams: dict[int, Stream] = {}
        self._timer: Timer | None = None
        self._waits = False
        self._last = 0
        self._close = 0
        self._empty = 0
        self._behind = 0

    def add(self, fileno: int, stream: Stream) -> None:
        """Read it from now on."""
        self._streams[fileno] = stream
        self._epoll.register(fileno, select.EPOLLIN)
        if self._timer is None:
            self._turns = self._given or asyncio.get_running_loop()
            self._wait()

    def remove(self, fileno: int) -> None:
        """Before it is closed."""
        if self._streams.pop(fileno, None) is None:
            return
        self._epoll.unregister(fileno)
        if not self._streams:
            self._stop()

    def beside(self) -> None:
        """Something was sent, so the event loop is awake: read now what would wake it soon."""
        if self._timer is not None and self._clock.now() - self._last > _SOON:
            self._timer.cancel()
            self._timer = self._turns.call_later(0.0, self._again)

    def _wait(self) -> None:
        if not self._waits:
            self._waits = True
            self._turns.add_reader(self._epoll.fileno(), self._wake)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waits:
            self._waits = False
            self._turns.remove_reader(self._epoll.fileno())

    def _wake(self) -> None:
        """Something came; after many close wakings, the next ones are paused."""
        now = self._clock.now()
        self._close = self._close + 1 if now - self._last < _CLOSE else 0
        self._turn(now, apart=True)
        if self._close >= _HURRIED and self._streams:
            self._stop()
            self._close = self._empty = 0
            self._timer = self._turns.call_later(PAUSE, self._again)

    def _again(self) -> None:
        """The pause is over."""
        self._timer = None
        now = self._clock.now()
        self._behind = self._behind + 1 if now - self._last > _LATE else 0
        found = self._turn(now, apart=0 < self._behind < _BEHIND)
        self._empty = 0 if found else self._empty + 1
        if not self._streams:
            return
        if self._empty < _HURRIED:
            self._timer = self._turns.call_later(PAUSE, self._again)
        else:
            self._wait()

    def _turn(self, now: int, *, apart: bool) -> int:
        """Read every socket that has something; how many there were."""
        ready = self._epoll.poll(0, _MOST)
        streams, since, between = self._streams, self._last, self.between
        for fileno, _ in ready:
            stream = streams.get(fileno)
            if stream is None:  # closed meanwhile
                continue
            if apart:
                stream.apart(now)
            else:
                stream.together(now, since)
            between()
        self._last = now
        return len(ready)

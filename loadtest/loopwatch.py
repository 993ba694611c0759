"""How late the event loop runs its timers: a client that lags reads an engine as slow.

CPU use alone does not show it. A ticker of its own measures, so nothing rides on the load path.
A stall keeps the ticks that fall into it from being taken: each counts as late as it would have
been, or a client that stood still for a second in a minute would look late once in 3,000 times.
"""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from measurement.doubted import Stall
from measurement.histogram import HistogramBuilder

_TICK = 0.02
_STALL = 0.005
"""Seconds of lag from which on a stall is remembered."""

_LONG = 0.5
"""Seconds of a stall from which on it is told in the report."""


class LoopWatch:
    """Start it, stop it, read ``lag``: seconds between a timer's due time and its turn."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.lag = HistogramBuilder()
        self._clock = clock
        self._starts = array("d")
        self._ends = array("d")
        self._due = 0.0
        self._worst = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = self._clock() + _TICK
        self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick)

    def stop(self) -> None:
        """What is overdue by now counts too: a stall may last until the very end."""
        if self._timer is not None:
            self._timer.cancel()
            if self._clock() > self._due:
                self._count()
            self._timer = None

    def worst_since(self) -> float:
        """The longest lag since this was last asked, seconds."""
        worst, self._worst = self._worst, 0.0
        return worst

    def _tick(self) -> None:
        self._count()
        self.start()

    def stalls(self, since: float, until: float) -> list[Stall]:
        """When the loop stood still within that time, be it that no tick has told of it yet.

        From when the tick was due that it made late: it can have begun up to a tick before.
        """
        self._remember()
        first, last = bisect_left(self._ends, since), bisect_right(self._starts, until + _TICK)
        return list(zip(self._starts[first:last], self._ends[first:last], strict=True))

    def long_stalls(self, origin: float) -> tuple[Stall, ...]:
        """Those in which whole windows may have passed unheard, in seconds from ``origin``."""
        both = zip(self._starts, self._ends, strict=True)
        return tuple(
            (since - origin, until - origin) for since, until in both if until - since >= _LONG
        )

    @classmethod
    @contextmanager
    def watching(cls, clock: Callable[[], float]) -> Iterator[Self]:
        """One that runs for as long as the block does."""
        watch = cls(clock)
        watch.start()
        try:
            yield watch
        finally:
            watch.stop()

    def _remember(self) -> None:
        now, start = self._clock(), self._due
        if self._timer is None or now - self._due <= _STALL:
            return
        if self._starts and self._starts[-1] == start:
            self._ends[-1] = now
        else:
            self._starts.append(start)
            self._ends.append(now)

    def _count(self) -> None:
        self._remember()
        late = max(0.0, self._clock() - self._due)
        self._worst = max(self._worst, late)
        while late >= _TICK:
            self.lag.record(late)
            late -= _TICK
        self.lag.record(late)

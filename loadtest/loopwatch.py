"""How late the event loop runs its timers: a client that lags reads an engine as slow.

CPU use alone does not show it. A ticker of its own measures, so nothing rides on the load path.
A stall keeps the ticks that fall into it from being taken: each counts as late as it would have
been, or a client that stood still for a second in a minute would look late once in 3,000 times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from measurement.histogram import HistogramBuilder

_TICK = 0.02


class LoopWatch:
    """Start it, stop it, read ``lag``: seconds between a timer's due time and its turn."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.lag = HistogramBuilder()
        self._clock = clock
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = self._clock() + _TICK
        self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick)

    def stop(self) -> None:
        """What is overdue by now counts too: a stall may last until the very end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._clock() > self._due:
                self._count()

    def _tick(self) -> None:
        self._count()
        self.start()

    def _count(self) -> None:
        late = max(0.0, self._clock() - self._due)
        while late >= _TICK:
            self.lag.record(late)
            late -= _TICK
        self.lag.record(late)

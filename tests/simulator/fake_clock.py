"""A clock and its timers, moved by hand: what a real-time host is given in tests."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class FakeTimer:
    then: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(slots=True)
class FakeClock:
    """``late`` is how long after its time the n-th timer fires; it never skips a fixed event."""

    late: Callable[[int], float] = lambda _: 0.0
    now: float = 0.0
    _timers: list[tuple[float, int, FakeTimer]] = field(default_factory=list)
    _fixed: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _count: int = 0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, then: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(then)
        self._count += 1
        at = max(self.now, when + self.late(self._count))
        heapq.heappush(self._timers, (at, self._count, timer))
        return timer

    def at(self, when: float, then: Callable[[], None]) -> None:
        """An event of the outside world, which happens exactly then."""
        self._count += 1
        heapq.heappush(self._fixed, (when, self._count, then))

    def run(self) -> None:
        """Until nothing is left to happen."""
        while self._timers or self._fixed:
            if self._fixed and (not self._timers or self._fixed[0][0] <= self._timers[0][0]):
                self.now, _, then = heapq.heappop(self._fixed)
                then()
                continue
            when, _, timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self.now = when
                timer.then()

"""What a fold holds of one window while it may still change, and what holds between windows."""

from __future__ import annotations

import math
from collections.abc import Iterable

from measurement.cohort import CohortBuilder
from measurement.events import MICRO, Events
from measurement.outcome import Outcome


class Building:
    """One window in the making."""

    __slots__ = (
        "changes",
        "closed",
        "cohort",
        "completed",
        "dirty",
        "level_before",
        "limit",
        "limit_at",
        "revision",
        "sent",
        "signals",
        "signals_at",
        "tokens",
    )

    def __init__(self) -> None:
        self.dirty = True
        self.closed = False
        self.revision = 0
        self.sent = 0
        self.tokens = 0
        self.completed: dict[Outcome, int] = {}
        self.changes: list[tuple[float, int]] = []
        self.level_before: int | None = None
        self.limit: int | None = None
        self.limit_at = -math.inf
        self.signals: tuple[float | None, float | None, float | None] = (None, None, None)
        self.signals_at = -math.inf
        self.cohort = CohortBuilder()

    @property
    def settled(self) -> bool:
        """Given out as it is, with nothing left to wait for."""
        return self.closed and not self.dirty and not self.cohort.pending

    def complete(self, outcome: Outcome) -> None:
        """Count a request that ended in this window."""
        self.completed[outcome] = self.completed.get(outcome, 0) + 1

    def events(self, start: float, end: float) -> Events:
        """The events part so far; the count in flight holds to the window's end."""
        running, waiting, kv_use = self.signals
        return Events(
            sent=self.sent,
            tokens=self.tokens,
            completed=dict(self.completed),
            **self._in_flight(round(start * MICRO), round(end * MICRO)),
            limit=self.limit,
            running=running,
            waiting=waiting,
            kv_use=kv_use,
        )

    def _in_flight(self, start: int, end: int) -> dict[str, int]:
        if self.level_before is None:
            return {}
        level = highest = self.level_before
        area = level * (end - start)
        for at, delta in sorted(self.changes, key=lambda change: change[0]):
            level += delta
            highest = max(highest, level)
            area += delta * (end - round(at * MICRO))
        return {
            "in_flight_us": area,
            "in_flight_span_us": end - start,
            "in_flight_max": highest,
        }


class Level:
    """What carries over from one window to the next: the count in flight, and the limit."""

    __slots__ = ("_count", "_count_at_close", "_known", "_limit_at_close")

    def __init__(self) -> None:
        self._count = 0
        self._count_at_close = 0
        self._known = False
        self._limit_at_close: int | None = None

    def change(self, at: float, n: int, window: Building, closed: Iterable[Building]) -> None:
        """The count becomes ``n``: a step at ``at``, whatever was reported before it."""
        delta = n - self._count
        self._count = n
        window.changes.append((at, delta))
        if not window.closed:
            return
        window.level_before = window.level_before or 0
        self._count_at_close += delta
        for later in closed:
            later.level_before = (later.level_before or 0) + delta
            later.dirty = True

    def limit(self, at: float, n: int, window: Building, closed: Iterable[Building]) -> None:
        """The limit becomes ``n``, until one that was set later."""
        if at < window.limit_at:
            return
        window.limit, window.limit_at = n, at
        if not window.closed:
            return
        for later in closed:
            if later.limit_at > -math.inf:
                return
            later.limit, later.dirty = n, True
        self._limit_at_close = n

    def close(self, window: Building) -> None:
        """The window's time is over: what holds at its start is known, and carries on."""
        self._known = self._known or bool(window.changes)
        window.level_before = self._count_at_close if self._known else None
        self._count_at_close += sum(delta for _, delta in window.changes)
        if window.limit is None:
            window.limit = self._limit_at_close
        self._limit_at_close = window.limit
        window.closed = True

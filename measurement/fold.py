"""What a fold holds of one window while it may still change, and what holds between windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from measurement.cohort import CohortBuilder
from measurement.events import MICRO, Events
from measurement.in_flight_changes import Changes
from measurement.outcome import Outcome


class Setting:
    """A value that holds until another is set, as it stood at a window's end."""

    __slots__ = ("at", "value")

    def __init__(self) -> None:
        self.value: int | None = None
        self.at = -math.inf


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
        "packed",
        "revision",
        "sent",
        "shadow_limit",
        "signals",
        "signals_at",
        "tokens",
    )

    def __init__(self) -> None:
        self.dirty = True
        self.closed = False
        self.packed = False
        self.revision = 0
        self.sent = 0
        self.tokens = 0
        self.completed: dict[Outcome, int] = {}
        self.changes = Changes()
        self.level_before: int | None = None
        self.limit = Setting()
        self.shadow_limit = Setting()
        self.signals: tuple[float | None, float | None, float | None] = (None, None, None)
        self.signals_at = -math.inf
        self.cohort = CohortBuilder()

    @property
    def settled(self) -> bool:
        """Given out as it is, with nothing left to wait for."""
        return self.closed and not self.dirty and not self.cohort.pending

    def pack(self) -> None:
        """Settled, it is kept for what may still come late: in as little memory as that needs."""
        self.cohort.pack()
        self.changes.pack()
        self.packed = True

    def unpack(self) -> None:
        """It is about to change after all."""
        self.cohort.unpack()
        self.packed = False

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
            limit=self.limit.value,
            shadow_limit=self.shadow_limit.value,
            running=running,
            waiting=waiting,
            kv_use=kv_use,
        )

    def _in_flight(self, start: int, end: int) -> dict[str, int]:
        if self.level_before is None:
            return {}
        level = highest = self.level_before
        area = level * (end - start)
        for at, delta in self.changes:
            level += delta
            highest = max(highest, level)
            area += delta * (end - round(at * MICRO))
        return {
            "in_flight_us": area,
            "in_flight_span_us": end - start,
            "in_flight_max": highest,
        }


class Level:
    """What carries over from one window to the next: the count in flight, and the limits."""

    __slots__ = ("_count", "_count_at_close", "_known", "limit", "shadow_limit")

    def __init__(self) -> None:
        self._count = 0
        self._count_at_close = 0
        self._known = False
        self.limit = Held(lambda window: window.limit)
        self.shadow_limit = Held(lambda window: window.shadow_limit)

    def change(self, at: float, n: int, window: Building, closed: Iterable[Building]) -> None:
        """The count becomes ``n``: a step at ``at``, whatever was reported before it."""
        delta = n - self._count
        self._count = n
        window.changes.add(at, delta)
        if not window.closed:
            return
        window.level_before = window.level_before or 0
        self._count_at_close += delta
        for later in closed:
            later.level_before = (later.level_before or 0) + delta
            later.dirty = True

    def close(self, window: Building) -> None:
        """The window's time is over: what holds at its start is known, and carries on."""
        self._known = self._known or bool(window.changes)
        window.level_before = self._count_at_close if self._known else None
        self._count_at_close += window.changes.total
        self.limit.close(window)
        self.shadow_limit.close(window)
        window.closed = True


class Held:
    """One setting as it carries over from window to window."""

    __slots__ = ("_at_close", "_of")

    def __init__(self, of: Callable[[Building], Setting]) -> None:
        self._of = of
        self._at_close: int | None = None

    def set(self, at: float, n: int, window: Building, closed: Iterable[Building]) -> None:
        """It becomes ``n``, until a value that was set later."""
        here = self._of(window)
        if at < here.at:
            return
        here.value, here.at = n, at
        if not window.closed:
            return
        for later in closed:
            there = self._of(later)
            if there.at > -math.inf:
                return
            there.value, later.dirty = n, True
        self._at_close = n

    def close(self, window: Building) -> None:
        """The window's time is over: where nothing was set in it, what held before still holds."""
        here = self._of(window)
        if here.value is None:
            here.value = self._at_close
        self._at_close = here.value

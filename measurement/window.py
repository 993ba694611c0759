"""A window of time: what happened in it, and what became of what was intended in it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from measurement.cohort import Cohort
from measurement.events import Events
from measurement.fold import Building, Level
from measurement.sample import Sample
from measurement.slo import Slo, judge

__all__ = ["Cohort", "Events", "Window", "WindowFold", "roll_up"]

_TOGETHER = 8
"""Resolved samples that are counted together: what counts them is then in the processor's caches
but for the first."""
RETENTION = 600.0
"""Seconds after its end for which a settled window still takes what comes late."""


@dataclass(frozen=True, slots=True)
class Window:
    """``index`` counts windows of this ``width`` from the schedule's start."""

    index: int
    start: float
    width: float
    revision: int
    """Rises each time that the window is given out anew."""
    final: bool
    """Its time is over and every request intended in it has an outcome."""
    events: Events
    cohort: Cohort

    @property
    def end(self) -> float:
        """Where the next one starts."""
        return self.start + self.width

    def merge(self, other: Window) -> Window:
        """Beside it: the same window of another worker. Its revision rises with either one's."""
        if (self.index, self.width) != (other.index, other.width):
            raise ValueError("only windows of one index and width merge; roll_up joins in time")
        return self._with(other, self.events.merge(other.events))

    def _with(self, other: Window, events: Events) -> Window:
        return Window(
            index=self.index,
            start=self.start,
            width=self.width,
            revision=self.revision + other.revision,
            final=self.final and other.final,
            events=events,
            cohort=self.cohort.merge(other.cohort),
        )

    def then(self, later: Window) -> Window:
        """Joined in time with a later one; index, start and width stay this one's."""
        return self._with(later, self.events.then(later.events))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, exact."""
        return {
            "index": self.index,
            "start": self.start,
            "width": self.width,
            "revision": self.revision,
            "final": self.final,
            "events": self.events.to_json(),
            "cohort": self.cohort.to_json(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Window:
        """What ``to_json`` wrote."""
        return cls(
            index=given["index"],
            start=given["start"],
            width=given["width"],
            revision=given["revision"],
            final=given["final"],
            events=Events.from_json(given["events"]),
            cohort=Cohort.from_json(given["cohort"]),
        )


def roll_up(windows: Iterable[Window], width: float, *, ended: bool = False) -> list[Window]:
    """Coarser windows from finer ones of one width, in order of time.

    A coarse window is final when all its finer ones are there and final; when the run has
    ``ended``, the last one may be short.
    """
    groups: dict[int, list[Window]] = {}
    ratio = 0
    for window in sorted(windows, key=lambda w: w.index):
        ratio = ratio or round(width / window.width)
        if ratio < 1 or not math.isclose(ratio * window.width, width):
            raise ValueError(f"{width:g} s is no multiple of windows of {window.width:g} s")
        groups.setdefault(window.index // ratio, []).append(window)
    return [
        Window(
            index=index,
            start=index * width,
            width=width,
            revision=joined.revision,
            final=joined.final and (ended or len(group) == ratio),
            events=joined.events,
            cohort=joined.cohort,
        )
        for index, group in groups.items()
        for joined in (reduce(Window.then, group),)
    ]


class WindowFold:
    """Folds what is reported, in any order, into windows; ``changed`` gives out what moved.

    Every call is cheap enough for each chunk of each stream. What is reported of a window after
    it was given out revises it; what comes more than ``RETENTION`` seconds after a settled
    window's end is counted in ``too_late`` and in nothing else.
    """

    def __init__(self, width: float = 1.0, *, slo: Slo | None = None, start: float = 0.0) -> None:
        self.width = width
        self.slo = slo
        self.too_late = 0
        self._windows: dict[int, Building] = {}
        self._next = int(start // width)  # the first window that is not closed yet
        self._level = Level()
        self._resolved: list[Sample] = []

    def offered(self, index: int, tenant: str, intended_at: float) -> None:  # noqa: ARG002
        """Request ``index`` of the schedule is due."""
        self._at(intended_at).cohort.offered(tenant)

    def sent(self, at: float) -> None:
        """A request went out."""
        self._at(at).sent += 1

    def tokens(self, at: float, n: int) -> None:
        """``n`` tokens arrived."""
        window = self._windows.get(int(at // self.width)) or self._at(at)
        window.tokens += n
        window.dirty = True

    def all_tokens(self, ats: Sequence[float], counts: Sequence[int]) -> None:
        """``tokens`` of each, in order of time; those of one window together."""
        width, start = self.width, 0
        if ats and ats[0] // width == ats[-1] // width:
            self.tokens(ats[0], sum(counts))
            return
        while start < len(ats):
            same = ats[start] // width
            end = bisect_right(ats, same, start, key=lambda at: at // width)
            self.tokens(ats[start], sum(counts[start:end]))
            start = end

    def in_flight(self, at: float, n: int) -> None:
        """From ``at`` on, ``n`` requests are in flight."""
        self._level.change(at, n, self._at(at), self._closed_after(at))

    def limit(self, at: float, n: int) -> None:
        """From ``at`` on, the policy allows ``n`` in flight."""
        self._level.limit.set(at, n, self._at(at), self._closed_after(at))

    def shadow_limit(self, at: float, n: int) -> None:
        """From ``at`` on, the shadow would allow ``n`` in flight."""
        self._level.shadow_limit.set(at, n, self._at(at), self._closed_after(at))

    def signals(
        self, at: float, running: float | None, waiting: float | None, kv_use: float | None
    ) -> None:
        """What the engine said of itself at ``at``."""
        window = self._at(at)
        if at >= window.signals_at:
            window.signals_at = at
            window.signals = (running, waiting, kv_use)

    def resolved(self, sample: Sample) -> None:
        """A request that was offered has its outcome; counted before any window is given out."""
        self._resolved.append(sample)
        if len(self._resolved) >= _TOGETHER:
            self._count()

    def _count(self) -> None:
        waiting, self._resolved = self._resolved, []
        for sample in waiting:
            self._resolve(sample)

    def _resolve(self, sample: Sample) -> None:
        self._at(sample.intended_at).cohort.resolved(sample, judge(sample, self.slo))
        done_at = sample.intended_at if sample.done_at is None else sample.done_at
        self._at(done_at).complete(sample.outcome)

    def changed(self, now: float) -> list[Window]:
        """Windows that closed by ``now`` or were revised since the last call, in order."""
        self._count()
        self._close_before(int(now // self.width))
        given = [
            self._give(index, window)
            for index, window in sorted(self._windows.items())
            if window.dirty and index < self._next
        ]
        self._forget(now)
        return given

    def finish(self, now: float) -> list[Window]:
        """The last word: everything that changed, the window of ``now`` included."""
        self._count()
        last = max((*self._windows, math.ceil(now / self.width) - 1))
        self._close_before(last + 1)
        return self.changed(now)

    def _at(self, at: float) -> Building:
        """The window that holds this time, which is about to change."""
        index = int(at // self.width)
        window = self._windows.get(index)
        if window is None:
            window = Building()
            if index < self._next:
                self.too_late += 1  # counted here, and thrown away
            else:
                self._windows[index] = window
        elif window.packed:
            window.unpack()
        window.dirty = True
        return window

    def _closed_after(self, at: float) -> list[Building]:
        index = int(at // self.width)
        if index + 1 >= self._next:
            return []
        return [self._windows[i] for i in range(index + 1, self._next) if i in self._windows]

    def _close_before(self, index: int) -> None:
        for place in range(self._next, index):
            self._level.close(self._windows.setdefault(place, Building()))
        self._next = max(self._next, index)

    def _give(self, index: int, window: Building) -> Window:
        window.dirty = False
        window.revision += 1
        if window.settled:
            window.pack()
        start = index * self.width
        return Window(
            index=index,
            start=start,
            width=self.width,
            revision=window.revision,
            final=not window.cohort.pending,
            events=window.events(start, (index + 1) * self.width),
            cohort=window.cohort.freeze(),
        )

    def _forget(self, now: float) -> None:
        oldest = now - RETENTION
        for index in [i for i in self._windows if (i + 1) * self.width < oldest]:
            if self._windows[index].settled:
                del self._windows[index]

"""The rows that a run's page draws: windows rolled up to a step that suits the run's length.

Only buckets with windows that may still change are kept as windows; a finished bucket is its row
and nothing more, so the memory of a long run stays bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Any

from controlplane.runs import shares
from controlplane.runs.panels.base import Column, Number, Row, Source
from controlplane.runs.panels.base import columns as panel_columns
from documents import canonical
from measurement.cohort import HISTOGRAMS, Cohort
from measurement.histogram import Histogram
from measurement.window import Window, roll_up

EVENT_STEPS = (1, 10, 60, 600)
COHORT_STEPS = (1, 2, 5, 10, 60, 600)
MOST_ROWS = 1_800
FEWEST_COHORTS = 30

BARE = dict.fromkeys(HISTOGRAMS, Histogram())
"""What turns a cohort into its counts."""

Changed = dict[Source, set[int]]
"""Starts of rows, by table."""


def event_step(seconds: float) -> int:
    """The finest step that keeps a table within its rows."""
    return next((step for step in EVENT_STEPS if seconds <= step * MOST_ROWS), EVENT_STEPS[-1])


def cohort_step(seconds: float) -> int:
    """The coarsest step that still gives thirty points: the more requests in one, the better."""
    fits = [step for step in COHORT_STEPS if seconds >= step * FEWEST_COHORTS]
    return max(fits, default=COHORT_STEPS[0])


@cache
def columns_of(source: Source) -> Mapping[str, Column]:
    """A table's columns in order: what panels draw, and what tiles count."""
    return panel_columns(source) | (shares.COLUMNS if source == "cohorts" else {})


def layout() -> str:
    """A name for what the columns are now; stored rows under another name are made anew."""
    return canonical.sha256([list(columns_of("events")), list(columns_of("cohorts"))])[:12]


@dataclass(slots=True)
class Table:
    """One table's rows, by their start in seconds; ``seqs`` says under which seq each is stored."""

    source: Source
    step: int
    rows: dict[int, list[Number]] = field(default_factory=dict)
    seqs: dict[int, int] = field(default_factory=dict)
    _buckets: dict[int, dict[int, Window]] = field(default_factory=dict)
    _done: set[int] = field(default_factory=set)
    since: float = 0.0
    """Where warm-up ends: what was intended before is drawn, and not counted."""
    until: int | None = None
    """The first second in which nothing is due any more: there are no cohorts in the drain."""
    _settled: Cohort = field(default_factory=Cohort)
    """Counts of the finished buckets."""

    def take(self, window: Window) -> int | None:
        """Put a window into its bucket; the bucket's start, or None when it belongs in none."""
        at = window.index // self.step * self.step
        if at in self._done or (self.until is not None and window.index >= self.until):
            return None
        bucket = self._buckets.setdefault(at, {})
        known = bucket.get(window.index)
        if known is None or window.revision >= known.revision:
            bucket[window.index] = window
        return at

    def roll(self, at: int, *, ended: bool = False) -> bool:
        """Make the bucket's row anew; True when that changed it."""
        bucket = self._buckets[at]
        whole = self.step if self.until is None else min(self.step, self.until - at)
        complete = len(bucket) == whole and all(window.final for window in bucket.values())
        if complete or ended:
            self._done.add(at)
            del self._buckets[at]
            self._settled = self._counted(bucket.values())
        values = self._values(bucket, open_=not (complete or ended))
        if self.rows.get(at) == values:
            return False
        self.rows[at] = values
        return True

    def _values(self, bucket: Mapping[int, Window], *, open_: bool) -> list[Number]:
        (joined,) = roll_up(bucket.values(), float(self.step))
        merged = replace(joined, width=sum(window.width for window in bucket.values()))
        read: list[Number] = [column(merged) for column in columns_of(self.source).values()]
        if self.source == "events":
            return read
        return [int(open_), merged.cohort.e2e.count, *read]

    def close(self) -> set[int]:
        """Nothing more will come: the starts of the rows that this changed."""
        return {at for at in list(self._buckets) if self.roll(at, ended=True)}

    def counts(self) -> Cohort:
        """What has become of every request so far; counts only."""
        open_now = (window for bucket in self._buckets.values() for window in bucket.values())
        return self._counted(open_now)

    def _counted(self, windows: Iterable[Window]) -> Cohort:
        kept = (replace(w.cohort, **BARE) for w in windows if w.start >= self.since)
        return reduce(Cohort.merge, kept, self._settled)

    def shown(self) -> list[Row]:
        """The rows as panels read them."""
        keys = list(columns_of(self.source))
        skip = 0 if self.source == "events" else 2
        return [
            Row(
                at=at,
                open=bool(skip and values[0]),
                n=int(values[1] or 0) if skip else 0,
                values=dict(zip(keys, values[skip:], strict=True)),
            )
            for at, values in sorted(self.rows.items())
        ]

    def changed(self, since: int) -> list[list[Number]]:
        """Rows changed after that seq, as the page takes them."""
        return [[at, *values] for at, values in sorted(self.rows.items()) if self.seqs[at] > since]


class Board:
    """Both tables of one run."""

    def __init__(self, duration_s: float, *, warm_up_s: float = 0.0) -> None:
        self.events = Table("events", event_step(duration_s))
        last = math.ceil(duration_s)
        self.cohorts = Table("cohorts", cohort_step(duration_s), since=warm_up_s, until=last)

    @property
    def tables(self) -> tuple[Table, Table]:
        return self.events, self.cohorts

    def fold(self, windows: Iterable[Window]) -> Changed:
        """Take windows; the starts of the rows that this changed, by table."""
        touched: Changed = {"events": set(), "cohorts": set()}
        for window in windows:
            for table in self.tables:
                if (at := table.take(window)) is not None:
                    touched[table.source].add(at)
        return {
            table.source: {at for at in touched[table.source] if table.roll(at)}
            for table in self.tables
        }

    def close(self) -> Changed:
        """The run has ended: every row is as good as it gets."""
        return {table.source: table.close() for table in self.tables}

    def restore(self, source: Source, rows: Iterable[tuple[int, int, list[Any]]]) -> None:
        """Stored rows (start, seq, values), for looking; windows may not be folded in after."""
        table = self.events if source == "events" else self.cohorts
        for at, seq, values in rows:
            table.rows[at], table.seqs[at] = values, seq

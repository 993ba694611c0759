"""Steady state: from when on a run's numbers are those of the load, and no more of its start.

Each series that should settle (in flight, TTFT, TPOT; in a closed loop completions instead of in
flight, which its slots fix) is cut by MSER-5 (``measurement.mser``); the run is cut where the last
of them settles. A run that never settles is told so and not cut: there is no right part of it.
Why this method: docs/decisions/0080.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement.column_block import Block, Bools
from measurement.columns import SampleColumns
from measurement.latencies import Latency
from measurement.mser import BATCH, Settling, settling

Series = NDArray[np.float64]

METHOD = "MSER-5"
LEAST_SECONDS = 10.0
LEAST_REQUESTS = 100
POINTS = 50 * BATCH
"""Points in time of a series over time; fifty batches."""
MOST = 0.5
"""A start that is longer than half of the run leaves too little to call the rest steady."""


@dataclass(frozen=True, slots=True)
class Settled:
    """One series. ``cut`` is seconds from the start; None where it never settled."""

    name: str
    cut: float | None
    because: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"series": self.name, "cut_s": self.cut, "because": self.because}


@dataclass(frozen=True, slots=True)
class Steady:
    """``cut`` is in whole seconds from the start; None where no steady part was found."""

    cut: float | None
    because: str
    series: tuple[Settled, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "method": METHOD,
            "cut_s": self.cut,
            "because": self.because,
            "series": [row.to_json() for row in self.series],
        }


def detect(columns: SampleColumns, *, duration: float, closed_loop: bool = False) -> Steady:
    """Where the run's steady part begins, and why there."""
    if duration < LEAST_SECONDS or len(columns) < LEAST_REQUESTS:
        least = f"{LEAST_SECONDS:g} s and {LEAST_REQUESTS} requests"
        return Steady(None, f"too short to tell: a start is only looked for in {least} or more")
    over_time = ("completions", _completions) if closed_loop else ("in flight", _in_flight)
    first = _over_time(over_time[0], over_time[1](columns, duration), duration)
    latencies = (_by_request(name, columns, of) for name, of in _LATENCIES)
    return _latest([first, *(row for row in latencies if row is not None)], duration)


def _latest(found: list[Settled], duration: float) -> Steady:
    rows = tuple(found)
    restless = [row for row in rows if row.cut is None]
    if restless:
        told = "; ".join(f"{row.name} {row.because}" for row in restless)
        return Steady(None, f"no steady part was found: {told}", rows)
    late = max(rows, key=lambda row: row.cut or 0.0)
    if not late.cut:
        return Steady(0.0, "steady from the start: no series differs there from its rest", rows)
    cut = float(math.ceil(late.cut))
    if cut > MOST * duration:
        return Steady(None, f"no steady part was found: {late.name} settles too late", rows)
    settled = ", ".join(f"{row.name} at {row.cut:.0f} s" for row in rows if row.cut)
    return Steady(cut, f"cut at {cut:g} s, where the last series settles: {settled}", rows)


def _over_time(name: str, values: Series, duration: float) -> Settled:
    found = settling(values)
    return _row(name, found, None if found.start is None else found.start * duration / len(values))


def _by_request(name: str, columns: SampleColumns, of: Latency) -> Settled | None:
    """A latency in order of intended start; None where too few requests have one.

    Its logarithm is judged: latencies have long tails, and one late request should not move a cut.
    """
    starts = columns.known(lambda block: block.intended_at[_positive(block, of)])
    values = columns.known(lambda block: of(block)[_positive(block, of)])
    if len(values) < LEAST_REQUESTS:
        return None
    order = np.lexsort((values, starts))
    values = values[order]
    found = settling(np.log(values, out=values))
    return _row(name, found, None if found.start is None else float(starts[order[found.start]]))


def _positive(block: Block, of: Latency) -> Bools:
    return block.success & (of(block) > 0)


def _row(name: str, found: Settling, at: float | None) -> Settled:
    return Settled(name, 0.0 if found.start == 0 else at, found.because)


_LATENCIES: tuple[tuple[str, Latency], ...] = (
    ("TTFT", lambda block: block.ttft),
    ("TPOT", lambda block: block.tpot),
)


def _in_flight(columns: SampleColumns, duration: float) -> Series:
    """Mean number between intended start and end, in equal steps of time."""
    edges = np.linspace(0, duration, POINTS + 1)
    area = _since(columns.known(lambda block: block.intended_at), edges)
    area -= _since(np.sort(columns.known(lambda block: block.done_at)), edges)
    return np.diff(area) / (duration / POINTS)


def _since(instants: Series, edges: Series) -> Series:
    """Sum over instants of the time that has passed since each, at each edge."""
    before = np.searchsorted(instants, edges)
    sums = np.concatenate(([0.0], np.cumsum(instants)))
    result: Series = before * edges - sums[before]
    return result


def _completions(columns: SampleColumns, duration: float) -> Series:
    ended = columns.known(lambda block: block.done_at[block.success])
    counts, _ = np.histogram(ended, bins=POINTS, range=(0, duration))
    return counts.astype(np.float64)

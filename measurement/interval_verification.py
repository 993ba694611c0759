"""Intervals of percentiles held to the coverage they claim, on queues whose truth is known.

A sojourn in M/M/1 is exponential with mean 1/(1 − ρ), and long runs of customers are late
together: what order statistics are blind to, and the default interval is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measurement import block_bootstrap
from measurement.proportion import lower_bound, upper_bound
from measurement.quantiles import Interval, batch_means_interval, order_statistic_interval

PERCENTS = (50.0, 95.0, 99.0)
CLAIMED = 0.95
BAR = 0.85
"""The default interval's coverage must surely be over it, order statistics' surely under it."""
DEFAULT, NAIVE, BOOTSTRAP = "batch means", "order statistics", "block bootstrap"
_SETTLE = 10_000
"""Customers before the first one that counts."""


@dataclass(frozen=True, slots=True)
class Size:
    """Simulated runs a cell, and the (load, requests) of each cell."""

    runs: int
    cells: tuple[tuple[float, int], ...]
    bootstrap: bool = False


ENOUGH = {0.5: 4_000, 0.8: 10_000, 0.9: 40_000}
"""Requests from which on a run at that load holds busy periods enough to be held to the bar."""
REDUCED = Size(200, tuple(ENOUGH.items()))
FULL = Size(
    400,
    tuple((load, n) for load in (0.5, 0.8, 0.9) for n in (2_000, 10_000, 40_000)),
    bootstrap=True,
)


@dataclass(frozen=True, slots=True)
class Row:
    """How often one method's interval held the truth in one cell."""

    method: str
    load: float
    n: int
    percent: float
    hits: int
    runs: int
    open_ends: int
    """Runs whose interval lacked an end; such an end holds everything."""
    effective: float
    """Mean effective n."""
    width: float | None
    """Median width of the closed intervals, over the true value."""

    @property
    def coverage(self) -> float:
        """Of the runs."""
        return self.hits / self.runs

    @property
    def barred(self) -> bool:
        """Whether the cell is held to the bar at all."""
        return self.method != BOOTSTRAP and self.n >= ENOUGH[self.load]

    @property
    def held(self) -> bool:
        """The default surely covers enough; the naive one must be seen to fail."""
        if not self.barred:
            return True
        if self.method == NAIVE:
            return upper_bound(self.hits, self.runs, CLAIMED) < BAR
        return lower_bound(self.hits, self.runs, CLAIMED) > BAR


def rows(size: Size, rng: np.random.Generator) -> Iterator[Row]:
    """The whole table, a cell at a time."""
    for load, n in size.cells:
        yield from _cell(load, n, size, rng)


def sojourns(load: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Times in an M/M/1 queue with service of mean 1, in order, its start cut."""
    count = n + _SETTLE
    service, gap = rng.exponential(1.0, count), rng.exponential(1 / load, count)
    walk = np.concatenate(([0.0], np.cumsum(service[:-1] - gap[1:])))
    times: NDArray[np.float64] = (walk - np.minimum.accumulate(walk) + service)[-n:]
    return times


def truth(load: float, percent: float) -> float:
    """The percentile of the sojourn."""
    return -math.log(1 - percent / 100) / (1 - load)


def _cell(load: float, n: int, size: Size, rng: np.random.Generator) -> list[Row]:
    found: dict[tuple[str, float], list[Interval]] = {}
    for _ in range(size.runs):
        times = sojourns(load, n, rng)
        for percent in PERCENTS:
            found.setdefault((DEFAULT, percent), []).append(batch_means_interval(times, percent))
            naive = order_statistic_interval(times, percent)
            found.setdefault((NAIVE, percent), []).append(naive)
        if size.bootstrap:
            drawn = block_bootstrap.intervals(times, PERCENTS, rng)
            for percent, interval in zip(PERCENTS, drawn, strict=True):
                found.setdefault((BOOTSTRAP, percent), []).append(interval)
    return [_row(method, load, n, percent, seen) for (method, percent), seen in found.items()]


def _row(method: str, load: float, n: int, percent: float, seen: list[Interval]) -> Row:
    value = truth(load, percent)
    closed = [
        found.high - found.low for found in seen if found.low is not None and found.high is not None
    ]
    return Row(
        method=method,
        load=load,
        n=n,
        percent=percent,
        hits=sum(_holds(found, value) for found in seen),
        runs=len(seen),
        open_ends=len(seen) - len(closed),
        effective=float(np.mean([found.effective_n for found in seen])),
        width=float(np.median(closed)) / value if closed else None,
    )


def _holds(found: Interval, value: float) -> bool:
    above = found.low is None or found.low <= value
    return above and (found.high is None or value <= found.high)

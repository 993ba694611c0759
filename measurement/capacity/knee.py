"""The knee of a ladder of loads: where latency has left its floor and throughput stops following.

Between two rungs it is interpolated: the logarithm of latency, and the share that was served, are
taken as lines. The interval comes from whole ladders that were repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from measurement.beta import student_quantile
from measurement.capacity.observed import Observed

LEAVES = 2.0
"""Latency has left its floor at twice of it: where M/M/1 is half loaded, and its power greatest."""
FOLLOWS = 0.95
"""Served over offered; below it throughput no longer follows the load."""
RECOMMENDED = (0.70, 0.80)
"""Share of the knee to run at."""
BOTH = "latency has left its floor, and throughput stops following the load"
REFUSED = "throughput stops following the load; latency stays low, since what is over is refused"


@dataclass(frozen=True, slots=True)
class Knee:
    """``load`` is requests/s; None where the ladder holds no knee, and ``because`` says why."""

    load: float | None
    because: str
    floor: float | None = None
    """Latency at the foot of the ladder, in seconds."""


@dataclass(frozen=True, slots=True)
class RepeatedKnee:
    """The knee over repeats. An end of the interval is None where a repeat found no knee."""

    load: float | None
    low: float | None
    high: float | None
    repeats: tuple[Knee, ...]
    because: str

    @property
    def recommended(self) -> tuple[float, float] | None:
        """The operating range: 70 to 80 % of the knee."""
        if self.load is None:
            return None
        return RECOMMENDED[0] * self.load, RECOMMENDED[1] * self.load

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "load": self.load,
            "low": self.low,
            "high": self.high,
            "because": self.because,
            "recommended": list(self.recommended) if self.recommended else None,
            "repeats": [{"load": one.load, "because": one.because} for one in self.repeats],
        }


def find(points: Sequence[Observed]) -> Knee:
    """The knee of one ladder."""
    ladder = sorted((p for p in points if p.rate > 0), key=lambda point: point.rate)
    if len(ladder) < 3:
        return Knee(None, "a knee needs three loads or more")
    timed = [point for point in ladder if point.latency]
    floor = min((point.latency or math.inf for point in timed), default=None)
    saturates = _crossing(ladder, lambda p: -p.served / p.rate, -FOLLOWS)
    leaves = None
    if floor is not None:
        limit = math.log(LEAVES * floor)
        leaves = _crossing(timed, lambda p: math.log(p.latency or floor), limit)
    return _judged(ladder[0].rate, saturates, leaves, floor)


def _judged(
    lowest: float, saturates: float | None, leaves: float | None, floor: float | None
) -> Knee:
    """The later of the two crossings: what is only slower still carries the load."""
    if saturates is None:
        return Knee(None, "throughput still follows the highest load", floor)
    if saturates <= lowest:
        return Knee(None, "the lowest load is past the knee", floor)
    load = max(saturates, leaves or 0.0)
    return Knee(load, REFUSED if leaves is None else BOTH, floor)


def over_repeats(ladders: Sequence[Sequence[Observed]]) -> RepeatedKnee:
    """The mean knee, with Student's 95 % interval over the repeats."""
    knees = tuple(find(ladder) for ladder in ladders)
    loads = [knee.load for knee in knees if knee.load is not None]
    if not loads:
        return RepeatedKnee(None, None, None, knees, knees[0].because if knees else "nothing ran")
    mean = float(np.mean(loads))
    because = next(knee.because for knee in knees if knee.load is not None)
    if len(loads) < len(knees):
        because = f"{because}; in {len(knees) - len(loads)} of {len(knees)} repeats none was found"
        return RepeatedKnee(mean, None, None, knees, because)
    if len(loads) < 2:
        return RepeatedKnee(mean, None, None, knees, f"{because}; one ladder gives no interval")
    spread = float(np.std(loads, ddof=1)) / math.sqrt(len(loads))
    half = student_quantile(0.975, len(loads) - 1) * spread
    return RepeatedKnee(mean, max(0.0, mean - half), mean + half, knees, because)


def _crossing(
    points: Sequence[Observed], of: Callable[[Observed], float], limit: float
) -> float | None:
    """The load from which on the value stays above the limit; the first rung's own if always.

    From the top downward, so that one noisy rung at the foot is no knee.
    """
    above = len(points)
    while above and of(points[above - 1]) > limit:
        above -= 1
    if above == len(points):
        return None
    if above == 0:
        return points[0].rate if points else None
    below, over = points[above - 1], points[above]
    share = (limit - of(below)) / (of(over) - of(below))
    return below.rate + share * (over.rate - below.rate)

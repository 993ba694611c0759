"""Change points in a history of runs: where a series moved to another level, with a p-value.

E-divisive (Matteson and James 2014): split where the energy distance between the two sides is
greatest, ask by permutation whether chance would split as well, and if not go on in both parts. It
assumes no shape of noise, only that runs are exchangeable while nothing changes. What is reported
are medians, since one bad run should not make a level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_RUNS = 10
"""A history of fewer tells no level from luck."""
LEAST_SIDE = 3
"""Runs on each side of a change; one run may be an accident."""
ALPHA = 0.01
PERMUTATIONS = 199
MOST_RUNS = 200
SEED = 20_260
"""The same history gives the same change points, whoever looks and when."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """``index`` is the first run of the new level."""

    index: int
    p: float
    before: float
    """Median of the runs since the change before, or since the first."""
    after: float
    """Median up to the next change, or the last run."""

    @property
    def relative(self) -> float | None:
        """(after − before) / before; None over 0."""
        return (self.after - self.before) / self.before if self.before else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "index": self.index,
            "p": self.p,
            "before": self.before,
            "after": self.after,
            "relative": self.relative,
        }


def find(values: ArrayLike, *, alpha: float = ALPHA, seed: int = SEED) -> list[ChangePoint]:
    """Every change, in order; none in a history that is too short. Over 200 runs are refused."""
    series = np.asarray(values, dtype=np.float64)
    if len(series) > MOST_RUNS:
        raise ValueError(f"{len(series):,} runs; at most {MOST_RUNS} are looked at")
    if len(series) < LEAST_RUNS:
        return []
    distances = np.abs(series[:, None] - series[None, :])
    rng = np.random.default_rng(seed)
    found = sorted(_split(distances, 0, len(series), alpha, rng))
    return list(_told(series, found))


def _told(series: NDArray[np.float64], found: Sequence[tuple[int, float]]) -> Iterator[ChangePoint]:
    edges = [0, *(index for index, _ in found), len(series)]
    for place, (index, p) in enumerate(found):
        before = float(np.median(series[edges[place] : index]))
        yield ChangePoint(index, p, before, float(np.median(series[index : edges[place + 2]])))


def _split(
    distances: Matrix, start: int, end: int, alpha: float, rng: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """The significant change in this stretch, and those on its two sides."""
    if end - start < 2 * LEAST_SIDE:
        return
    part = distances[start:end, start:end]
    strength, at = _best(part)
    if strength <= 0:
        return
    p = _chance(part, strength, alpha, rng)
    if p is None:
        return
    yield start + at, p
    yield from _split(distances, start, start + at, alpha, rng)
    yield from _split(distances, start + at, end, alpha, rng)


def _chance(part: Matrix, strength: float, alpha: float, rng: np.random.Generator) -> float | None:
    """The permutation p-value; None as soon as it is sure to be over ``alpha``."""
    better, most = 0, math.floor(alpha * (PERMUTATIONS + 1)) - 1
    for _ in range(PERMUTATIONS):
        better += _best(_shuffled(part, rng))[0] >= strength
        if better > most:
            return None
    return (better + 1) / (PERMUTATIONS + 1)


def _shuffled(part: Matrix, rng: np.random.Generator) -> Matrix:
    order = rng.permutation(len(part))
    shuffled: Matrix = part[np.ix_(order, order)]
    return shuffled


def _best(part: Matrix) -> tuple[float, int]:
    """The greatest scaled energy distance over all splits, and where it is.

    mn/(m+n) · (2E|X−Y| − E|X−X'| − E|Y−Y'|), from sums over the corners of the distance matrix.
    """
    n = len(part)
    sums = part.cumsum(axis=0).cumsum(axis=1)
    total = sums[-1, -1]
    sizes = np.arange(LEAST_SIDE, n - LEAST_SIDE + 1)
    left = sums[sizes - 1, sizes - 1]
    cross = sums[sizes - 1, n - 1] - left
    right = total - left - 2 * cross
    other = n - sizes
    within = left / (sizes * (sizes - 1)) + right / (other * (other - 1))
    strength = sizes * other / n * (2 * cross / (sizes * other) - within)
    place = int(np.argmax(strength))
    return float(strength[place]), int(sizes[place])

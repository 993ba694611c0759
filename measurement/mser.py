"""MSER-5: how much of a series' start to cut, so that the mean of the rest is known best.

The marginal standard error rule (White 1997; White, Cobb and Spratt 2000) takes means of five
values and cuts the d of them for which the variance of what is left, over its number, is least:
a biased start makes the variance larger, a longer cut makes the number smaller. Two guards stand
around it, since the rule always names some d: a start that does not differ from the rest is not
cut, and a rest that still moves is not steady.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

BATCH = 5
DIFFERS = 3.0
"""Standard errors between the start and the rest, or along the rest, that are no chance."""
DRIFT = 0.20
"""Change along the rest, as a share of its mean or of its spread, that matters."""


@dataclass(frozen=True, slots=True)
class Settling:
    """``start`` is the first value of the steady part; None where there is none."""

    start: int | None
    because: str


def settling(values: ArrayLike) -> Settling:
    """Where the series settles. Fewer than ten batches tell nothing, and are left whole."""
    given = np.asarray(values, dtype=np.float64)
    batches = given[: len(given) // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)
    n = len(batches)
    if n < 10 or float(np.ptp(batches)) == 0:
        return Settling(0, "does not vary")
    cut = _least(batches)
    if cut and not _differs(batches, cut):
        cut = 0
    if _drifts(batches[cut:]):
        return Settling(None, "still moves at the end")
    if cut >= n // 2:
        return Settling(None, "does not settle in the first half")
    return Settling(cut * BATCH, "settles" if cut else "is steady from the start")


def _least(batches: NDArray[np.float64]) -> int:
    """The d up to half of the batches with the least standard error of the rest."""
    n = len(batches)
    tail = np.cumsum(batches[::-1])[::-1]
    squares = np.cumsum(batches[::-1] ** 2)[::-1]
    left = np.arange(n, 0, -1)
    errors = (squares - tail**2 / left) / left**2
    return int(np.argmin(errors[: n // 2 + 1]))


def _differs(batches: NDArray[np.float64], cut: int) -> bool:
    start, rest = batches[:cut], batches[cut:]
    error = float(rest.std(ddof=1)) * math.sqrt(_inflation(rest) * (1 / cut + 1 / len(rest)))
    return abs(float(start.mean() - rest.mean())) > DIFFERS * error


def _drifts(rest: NDArray[np.float64]) -> bool:
    """Whether a line through the rest rises or falls by more than chance, and by enough."""
    at = np.arange(len(rest)) - (len(rest) - 1) / 2
    slope = float(at @ rest) / float(at @ at)
    residual = rest - rest.mean() - slope * at
    spread = float(residual.std(ddof=2))
    error = spread * math.sqrt(_inflation(residual) / float(at @ at))
    change = abs(slope) * len(rest)
    return abs(slope) > DIFFERS * error and change > DRIFT * max(abs(float(rest.mean())), spread)


def _inflation(values: NDArray[np.float64]) -> float:
    """How much less each value is worth, as its neighbours are alike: (1 + φ) / (1 − φ)."""
    centred = values - values.mean()
    total = float(centred @ centred)
    phi = float(centred[1:] @ centred[:-1]) / total if total else 0.0
    phi = min(max(phi, 0.0), 0.95)
    return (1 + phi) / (1 - phi)

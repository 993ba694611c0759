"""The second evidence for harm: a sign-symmetric e-process, exact at any number of blocks.

When arms don't differ, the draw makes D as likely as −D given all before. Then E is a fair bet's
wealth: it reaches 1/α with probability α at most, ever. It bets on a gap above 0, so it says
nothing of a gap above another margin, and is never used to show that there is none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

HORIZONS = (10, 40, 160)
"""Numbers of blocks that the three bets, of equal stake, are made for."""
_ROOT2 = math.sqrt(2)


def log_normal_cdf(x: float) -> float:
    """ln Φ(x), right far into the lower tail, where Φ itself is 0 in a float."""
    if x > -30:
        return math.log(math.erfc(-x / _ROOT2) / 2)
    y = 1 / (x * x)
    series = 1 - y * (1 - 3 * y * (1 - 5 * y))
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log(series)


_log_normal_cdfs = np.vectorize(log_normal_cdf, otypes=[np.float64])


def log_e(total: ArrayLike, squares: ArrayLike, scale: float) -> Any:
    """ln E for S = ΣD and V = ΣD²; ``scale`` is σ0, the deviation of D in an A/A run.

    E = mean over h of 2/√(1+λV) · exp(λS²/(2(1+λV))) · Φ(√λ·S/√(1+λV)), with λ = 1/(σ0² h).
    """
    s, v = np.asarray(total, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    bets = []
    for horizon in HORIZONS:
        bet, z = _without_side(s, v, scale, horizon)
        bets.append(bet + _log_normal_cdfs(z))
    return _mean(bets)[()]


def reaches(level: float, total: ArrayLike, squares: ArrayLike, scale: float) -> Any:
    """Whether E ≥ level, without the cost of Φ where E can't be so large."""
    s, v = np.asarray(total, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    most = _mean([_without_side(s, v, scale, horizon)[0] for horizon in HORIZONS])
    reached = (most >= math.log(level)) & (s > 0 if level > 1 else True)
    where = np.nonzero(reached)
    reached[where] = log_e(s[where], v[where], scale) >= math.log(level)
    return reached


def _without_side(
    s: NDArray[np.float64], v: NDArray[np.float64], scale: float, horizon: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One bet's logarithm but for Φ, and the argument of Φ."""
    if not scale > 0:
        raise ValueError(f"the scale of D must be above 0, not {scale}")
    weight = 1 / (scale * scale * horizon)
    spread = 1 + weight * v
    z = math.sqrt(weight) * s / np.sqrt(spread)
    return math.log(2) - np.log(spread) / 2 + z * z / 2, z


def _mean(logs: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The logarithm of the mean of exponentials, without leaving the range of floats."""
    stack = np.stack(logs)
    top = stack.max(axis=0)
    mean: NDArray[np.float64] = top + np.log(np.exp(stack - top).mean(axis=0))
    return mean

"""Running mean and variance of the blocks' differences, and a radius that holds at every look.

The asymptotic confidence sequence of Waudby-Smith and others, in its normal-mixture form and
one-sided: with probability 1 − α the true running gap is never above m + r at any k ≥ 20, and
likewise never below m − r. So one may look after every block and stop when one likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LEAST_BLOCKS = 20
"""Before so many blocks the radius is not to be trusted."""
TUNED_FOR = 60.0
"""t0: the number of blocks at which the radius is tightest for what it costs elsewhere."""


@dataclass(frozen=True, slots=True)
class Running:
    """After each of k = 1, 2, … blocks, along the last axis."""

    k: Array
    mean: Array
    variance: Array
    """Sample variance; 0 after one block."""
    sum: Array
    squares: Array
    """Sum of squares about 0, not about the mean."""


def running(differences: ArrayLike) -> Running:
    """Means and variances after every block."""
    d = np.asarray(differences, dtype=np.float64)
    k = np.arange(1, d.shape[-1] + 1, dtype=np.float64)
    total, squares = np.cumsum(d, axis=-1), np.cumsum(d * d, axis=-1)
    mean = total / k
    variance = np.maximum(squares - k * mean * mean, 0.0) / np.maximum(k - 1, 1.0)
    return Running(k, mean, variance, total, squares)


def mixing(alpha: float) -> float:
    """ρ² of the normal mixture, for the level α."""
    if not 0 < alpha < 0.5:
        raise ValueError(f"a one-sided level is above 0 and under 0.5, not {alpha}")
    twice = -2 * math.log(2 * alpha)
    return (twice + math.log(twice + 1)) / TUNED_FOR


def radius(variance: ArrayLike, k: ArrayLike, alpha: float) -> Any:
    """r_k(α) = √v · √(2(kρ²+1)/(k²ρ²) · ln(1 + √(kρ²+1)/(2α))); infinite before k = 20."""
    v, blocks = np.asarray(variance, dtype=np.float64), np.asarray(k, dtype=np.float64)
    rho2 = mixing(alpha)
    spread = blocks * rho2 + 1
    wide = np.sqrt(2 * spread / (blocks * blocks * rho2) * np.log1p(np.sqrt(spread) / (2 * alpha)))
    return np.where(blocks >= LEAST_BLOCKS, np.sqrt(v) * wide, np.inf)[()]

"""A fixed budget: four looks at a planned number of blocks, with O'Brien–Fleming bounds.

The bounds are those of Lan and DeMets' spending function in the shape of O'Brien and Fleming,
2 − 2Φ(z_{α/2}/√t) spent by the share t of the blocks, by the recursion of Armitage, McPherson
and Rowe. A look that is left out spends nothing, so leaving one out errs on the safe side.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

LOOKS = (0.25, 0.5, 0.75, 1.0)
LEAST_PLANNED = 33
_NORMAL = NormalDist()
_POINTS = 801
_LOWEST = -10.0


def look_blocks(planned: int) -> tuple[int, ...]:
    """After how many blocks one looks; a share that is no whole number waits for the next."""
    return tuple(math.ceil(share * planned) for share in LOOKS)


def spent(share: float, alpha: float) -> float:
    """How much of a one-sided α may be used up by that share of the blocks."""
    z = _NORMAL.inv_cdf(1 - alpha / 2)
    return math.erfc(z / math.sqrt(2 * share))


@lru_cache(maxsize=256)
def bounds(alpha: float = 0.025) -> tuple[float, ...]:
    """The z of each look: 4.33, 2.96, 2.36 and 2.01 for 0.025."""
    found: list[float] = []
    grid, mass = np.zeros(1), np.ones(1)
    before, used = 0.0, 0.0
    for share in LOOKS:
        step = math.sqrt(share - before)
        level = _crossing(grid, mass, step, spent(share, alpha) - used)
        found.append(level / math.sqrt(share))
        grid, mass = _below(grid, mass, step, level)
        before, used = share, spent(share, alpha)
    return tuple(found)


def _crossing(
    grid: NDArray[np.float64], mass: NDArray[np.float64], step: float, chance: float
) -> float:
    """The level that the walk is above after one more step with that chance."""
    low, high = 0.0, 12.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        tails = np.array([math.erfc((middle - x) / (step * math.sqrt(2))) / 2 for x in grid])
        low, high = (middle, high) if float(mass @ tails) > chance else (low, middle)
    return (low + high) / 2


def _below(
    grid: NDArray[np.float64], mass: NDArray[np.float64], step: float, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the walk is after one more step, of those below the level; trapezium weights."""
    after = np.linspace(_LOWEST, level, _POINTS)
    gaps = (after[:, None] - grid[None, :]) / step
    density = np.exp(-gaps * gaps / 2) @ mass / (step * math.sqrt(2 * math.pi))
    weights = np.full(_POINTS, after[1] - after[0])
    weights[[0, -1]] /= 2
    return after, density * weights

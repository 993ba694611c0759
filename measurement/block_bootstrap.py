"""A block bootstrap: an interval for a percentile, or for a ratio of two, as description.

Blocks of neighbours are drawn with replacement from the series joined end to start (Politis and
Romano 1992), so what is alike stays together. Its coverage is tested beside the default
interval's (``headway verify intervals``); no verdict rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from measurement.batch_means import effective_n
from measurement.quantiles import Interval, Ordered
from measurement.rank import rank

RESAMPLES = 200
METHOD = "block bootstrap, as description"
LONGEST = 10
"""Blocks are at most a tenth of the series, so that there are some to draw from."""


def block_length(values: ArrayLike, percent: float) -> int:
    """How many neighbours go together: the cube root of n, or twice what one value is worth less
    than an independent one, whichever is more."""
    given = np.asarray(values, dtype=np.float64)
    n = len(given)
    worth = _worth(given, percent)
    wanted = max(n ** (1 / 3), 2 * n / worth if worth else 0.0)
    return int(max(1, min(math.ceil(wanted), n // LONGEST or 1)))


def intervals(
    values_in_order: ArrayLike,
    percents: Sequence[float],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """A two-sided 95 % interval of each percentile; all None of an empty series."""
    given = np.asarray(values_in_order, dtype=np.float64)
    n = len(given)
    if not n:
        return [Interval(None, None, 0, 0.0, METHOD) for _ in percents]
    block = max(block_length(given, percent) for percent in percents)
    drawn = _percentiles(given, percents, block, rng, resamples)
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0, method="nearest")
    return [
        Interval(float(low[at]), float(high[at]), n, _worth(given, percent), METHOD)
        for at, percent in enumerate(percents)
    ]


def ratio_interval(
    a: ArrayLike,
    b: ArrayLike,
    percent: float,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> Interval:
    """Of B's percentile over A's, each resampled by itself: two runs share no blocks."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    size = min(len(first), len(second))
    if not size:
        return Interval(None, None, 0, 0.0, METHOD)
    drawn = [
        _percentiles(values, [percent], block_length(values, percent), rng, resamples)[:, 0]
        for values in (first, second)
    ]
    worth = min(_worth(first, percent), _worth(second, percent))
    if (drawn[0] <= 0).any():
        return Interval(None, None, size, worth, METHOD)
    low, high = np.quantile(drawn[1] / drawn[0], (0.025, 0.975))
    return Interval(float(low), float(high), size, worth, METHOD)


def _percentiles(
    values: NDArray[np.float64],
    percents: Sequence[float],
    block: int,
    rng: np.random.Generator,
    resamples: int,
) -> NDArray[np.float64]:
    """Order statistics of each resample, a column a percentile."""
    n = len(values)
    places = [rank(n, percent) - 1 for percent in percents]
    count = math.ceil(n / block)
    offsets = np.arange(block)
    found = np.empty((resamples, len(percents)))
    for at in range(resamples):
        starts = rng.integers(0, n, count)
        chosen = values.take((starts[:, None] + offsets).ravel()[:n], mode="wrap")
        chosen.partition(places)
        found[at] = chosen[places]
    return found


def _worth(values: NDArray[np.float64], percent: float) -> float:
    """The effective n of "no more than the percentile's value"."""
    value = Ordered.of(values).percentile(percent)
    return 0.0 if value is None else effective_n(np.ones(len(values)), values <= value)

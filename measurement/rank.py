"""Which order statistic a percentile is: one definition for samples and histograms alike."""

from __future__ import annotations

import math


def rank(n: int, percent: float) -> int:
    """The 1-based rank of the percentile among ``n`` sorted values: ⌈n·percent/100⌉, at least 1.

    This is the inverse of the empirical distribution (no interpolation): the smallest value that
    was observed such that at least ``percent`` of all observations are no greater. So
    "P95 ≤ τ" and "at least 95 % of values are ≤ τ" are the same statement.
    """
    if not 1 <= percent <= 100:
        raise ValueError(f"a percentile is given in percent from 1 to 100, as 99, not {percent}")
    return min(n, max(1, math.ceil(round(n * percent / 100, 9))))

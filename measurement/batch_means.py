"""Effective n: how many independent requests a run's correlated ones are worth.

Requests that queue behind each other are late together, so 10,000 of them may say as much about
a share as 1,000 independent ones. Batch means measures this: cut the series, in order of intended
start, into twenty batches of about equal n, and compare how much the share varies from batch to
batch with how much it would if requests were independent.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from measurement.beta import student_quantile

BATCHES = 20


def effective_n(n: ArrayLike, k: ArrayLike) -> float:
    """The effective n of ``sum(k)`` in ``sum(n)``, for a series given in pieces, in order.

    A piece is one request or one window. Never more than n. It is made smaller by Student's t
    against the normal, as a variance from twenty batches is itself uncertain. A share of 0 or 1
    does not vary, so it tells nothing of dependence, and n stands.
    """
    sizes, hits = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    sizes, hits = sizes[sizes > 0], hits[sizes > 0]
    total = float(sizes.sum())
    share = float(hits.sum()) / total if total else 0.0
    batches = min(BATCHES, len(sizes))
    if not 0 < share < 1 or batches < 2:
        return total
    middles = np.cumsum(sizes) - sizes / 2
    batch = np.minimum((middles * batches / total).astype(np.int64), batches - 1)
    surplus = np.bincount(batch, weights=hits - share * sizes, minlength=batches)
    variance = batches / (batches - 1) * float(surplus @ surplus) / total**2
    if variance == 0:
        return total
    return min(total, share * (1 - share) / variance * _caution(batches))


@lru_cache
def _caution(batches: int) -> float:
    """The squared ratio of the normal's 97.5 % quantile to Student's."""
    return (1.959963984540054 / student_quantile(0.975, batches - 1)) ** 2

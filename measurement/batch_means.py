"""Effective n: how many independent requests a run's correlated ones are worth.

Requests that queue behind each other are late together, so 10,000 of them may say as much about
a share as 1,000 independent ones. Batch means measures this: cut the series, in order of intended
start, into twenty batches of about equal n, and compare how much the share varies from batch to
batch with how much it would if requests were independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from measurement.beta import student_quantile

BATCHES = 20
AT_ONCE = 1 << 16

Floats = NDArray[np.float64]


def effective_n(n: ArrayLike, k: ArrayLike) -> float:
    """The effective n of ``sum(k)`` in ``sum(n)``, for a series given in pieces, in order.

    A piece is one request or one window. Never more than n. It is made smaller by Student's t
    against the normal, as a variance from twenty batches is itself uncertain. A share of 0 or 1
    does not vary, so it tells nothing of dependence, and n stands.
    """
    sizes, hits = np.asarray(n), np.asarray(k)
    batches = min(BATCHES, int(np.count_nonzero(sizes > 0)))
    total = float(sum(float(part.sum()) for part, _ in _pieces(sizes, hits)))
    share = sum(float(part.sum()) for _, part in _pieces(sizes, hits)) / total if total else 0.0
    if not 0 < share < 1 or batches < 2:
        return total
    surplus, before = np.zeros(batches), 0.0
    for size, hit in _pieces(sizes, hits):
        middles = before + np.cumsum(size) - size / 2
        batch = np.minimum((middles * batches / total).astype(np.int64), batches - 1)
        np.add.at(surplus, batch, hit - share * size)
        before += float(size.sum())
    variance = batches / (batches - 1) * float(surplus @ surplus) / total**2
    if variance == 0:
        return total
    return min(total, share * (1 - share) / variance * _caution(batches))


def _pieces(sizes: NDArray[Any], hits: NDArray[Any]) -> Iterator[tuple[Floats, Floats]]:
    """Those that are not empty, some at a time: a series may be as long as a run has requests."""
    for at in range(0, len(sizes), AT_ONCE):
        size, hit = (part[at : at + AT_ONCE].astype(np.float64) for part in (sizes, hits))
        there = size > 0
        yield size[there], hit[there]


@lru_cache
def _caution(batches: int) -> float:
    """The squared ratio of the normal's 97.5 % quantile to Student's."""
    return (1.959963984540054 / student_quantile(0.975, batches - 1)) ** 2

"""What is read off a run: throughput in a span, time to settle, fairness, refusals."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from simulator.plants.run import Client, Outcome

NEVER = math.inf


def count(times: Sequence[float], start: float, end: float) -> int:
    """How many of the ordered times lie in [start, end)."""
    return bisect_left(times, end) - bisect_left(times, start)


def rate(outcome: Outcome, start: float, end: float) -> float:
    """Completions a second in [start, end)."""
    return count(outcome.ended, start, end) / (end - start)


def settle(outcome: Outcome, start: float, end: float, wanted: float) -> float:
    """Seconds after ``start`` until 5 s in a row reach 90 % of ``wanted``; infinity if never."""
    at, window = start, 5.0
    ended = outcome.ended
    while at + window <= end:
        if count(ended, at, at + window) >= 0.9 * wanted * window:
            return at - start
        at += 0.5
    return NEVER


def refused(outcome: Outcome, start: float = 0.0, end: float = math.inf) -> int:
    """Refusals in [start, end)."""
    return count(outcome.refused, start, end)


def jain(shares: Sequence[float]) -> float:
    """Jain's index: 1 when all shares are equal, 1/n when one has everything."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def quantile(values: Sequence[float], q: float) -> float:
    """The value below which that share lies; the largest rank, so that it is a measured one."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else math.nan


def highest(client: Client, start: float = 0.0, end: float = math.inf) -> int:
    """The highest limit that held at some time in [start, end)."""
    held = [limit for at, limit in client.limits if at < end]
    before = [limit for at, limit in client.limits if at <= start]
    return max([*before[-1:], *held[len(before) :]])


def mean_limit(client: Client, start: float, end: float) -> float:
    """The limit's mean over time in [start, end)."""
    area, now, limit = 0.0, start, client.limits[0][1]
    for at, value in client.limits:
        if at >= end:
            break
        if at > now:
            area += limit * (at - now)
            now = at
        limit = value
    return (area + limit * (end - now)) / (end - start)

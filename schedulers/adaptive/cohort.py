"""Cohorts: requests that *started* in one span, with a median that the unfinished can't bend.

A window of answers is full of short requests, for they finish first. A cohort is judged once most
of it has ended and all that hasn't is older than its median: the rest then stands above it.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

UNFINISHED = 99.0
"""Stands above the logarithm of any latency."""


class Seen(Protocol):
    """What a cohort needs of an Observation."""

    @property
    def serial(self) -> int: ...
    @property
    def started_at(self) -> float: ...
    @property
    def in_flight(self) -> int: ...


class Cohort(NamedTuple):
    """Requests with serials from ``first`` to ``last``; without serials, those of its span."""

    first: int
    opened: float
    last: int | None = None
    closed: float | None = None
    values: tuple[float, ...] = ()
    """Logarithms of the latencies of those that ended well."""
    lost: int = 0
    """Members that ended otherwise."""
    peak: int = 0
    """The most in flight at any answer since it was opened."""
    streamed: bool = False
    """Values are times to first token: they say nothing of who is unfinished."""

    def holds(self, seen: Seen) -> bool:
        """Whether that request is a member."""
        if seen.serial > 0:
            return self.first <= seen.serial and (self.last is None or seen.serial <= self.last)
        after = seen.started_at >= self.opened
        return after and (self.closed is None or seen.started_at < self.closed)

    def with_answer(self, seen: Seen, value: float, *, streamed: bool) -> Cohort:
        """One more answer, of a member or not: both show how many were in flight."""
        values = (*self.values, value) if self.holds(seen) else self.values
        peak = max(self.peak, seen.in_flight)
        return Cohort(
            self.first, self.opened, self.last, self.closed, values, self.lost, peak, streamed
        )

    def with_peak(self, in_flight: int) -> Cohort:
        """An answer that was counted before, and shows how many are in flight now."""
        if in_flight <= self.peak:
            return self
        return Cohort(
            self.first,
            self.opened,
            self.last,
            self.closed,
            self.values,
            self.lost,
            in_flight,
            self.streamed,
        )

    def without(self, seen: Seen) -> Cohort:
        """A request ended that tells nothing; a member is missing then."""
        lost = self.lost + self.holds(seen)
        return Cohort(
            self.first,
            self.opened,
            self.last,
            self.closed,
            self.values,
            lost,
            self.peak,
            self.streamed,
        )

    def close(self, granted: int, now: float) -> Cohort:
        """Nobody who starts later belongs to it."""
        return Cohort(
            self.first, self.opened, granted, now, self.values, self.lost, self.peak, self.streamed
        )

    def size(self, granted: int) -> int:
        """How many members there are up to now, without the lost."""
        last = granted if self.last is None else self.last
        return max(len(self.values), last - self.first + 1 - self.lost)

    def complete(self) -> list[float]:
        """Every member in order of latency, the unfinished last; streamed ones as they are."""
        missing = 0 if self.streamed else self.size(self.first) - len(self.values)
        return [*sorted(self.values), *[UNFINISHED] * missing]

    def settled(self, now: float) -> bool:
        """Most have ended, and those that haven't are older than the median."""
        if self.closed is None:
            return False
        size, ended = self.size(self.first), len(self.values)
        if size == 0 or ended < 0.6 * size:
            return False
        if self.streamed or ended >= 0.95 * size:
            return True
        return now - self.closed >= math.exp(sorted(self.values)[size // 2])

    def overdue(self, now: float, log_limit: float) -> bool:
        """Half are unfinished and older than that: so is the median, before it is known."""
        if self.closed is None or self.streamed or 2 * len(self.values) >= self.size(self.first):
            return False
        return now - self.closed > math.exp(log_limit)

    def abandoned(self, now: float, wait: float) -> bool:
        """Members that are out four times as long as the slowest that ended are counted no more."""
        if self.closed is None or not self.values or now - self.closed <= wait:
            return False
        return now - self.closed > 4.0 * math.exp(max(self.values))


class Median(NamedTuple):
    """The middle of ordered values, with the spread around it (as a standard deviation)."""

    value: float
    spread: float
    size: int

    def error(self, spread: float) -> float:
        """Standard error of the median for that spread."""
        return 1.253 * spread / math.sqrt(self.size)


def median(ordered: list[float]) -> Median:
    """The spread is read off the density around the middle, so tails don't count.

    Between the ranks of 30 and 70 % a normal law holds 1.049 standard deviations. Where the
    upper rank is unfinished, the lower side counts twice.
    """
    size = len(ordered)
    middle, reach = size // 2, size // 5
    value = ordered[middle]
    above = ordered[min(size - 1, middle + reach)]
    below = ordered[max(0, middle - reach)]
    width = above - below if above < UNFINISHED else 2.0 * (value - below)
    return Median(value, max(0.004, width / 1.049), size)


def surely_above(ordered: list[float], z: float) -> float:
    """A value that the true median lies above, at z standard errors, whatever the distribution.

    Half of n draws fall below the median, give or take √n/2: so the rank n/2 − z√n/2 bounds it.
    """
    size = len(ordered)
    return ordered[max(0, int(size / 2 - z * math.sqrt(size) / 2))]

"""What latency is without a queue, and whether a cohort shows one: estimates over log latencies.

All values are natural logarithms of seconds, so a difference is a relative one. Medians throughout.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from schedulers.adaptive.cohort import Median, median, surely_above
from schedulers.adaptive.longer import longer

POOL = 800
"""The most samples of one limit that are kept."""
FEWEST = 100
"""Samples of one limit before their pooled median is tested at all."""
SHIFT = 0.15
"""The inflation that the summed evidence is built to find early."""
PROOF = 6.0
"""Summed log-likelihood ratio that counts as found; one cohort gives at most SINGLE of it."""
SINGLE = 5.0
DOUBT = 2.0
"""Evidence from which the limit no longer grows."""
UPPER = 1.5
"""Standard errors over a median in a bound of the baseline."""


class Sense(NamedTuple):
    """How sharply to look, as the law's parameters have it."""

    z_cohort: float
    z_epoch: float
    epochs: int
    tolerance: float
    """ln(1 + tolerance), widened for small limits."""
    precise: float
    """The standard error from which samples make a bound of the baseline."""
    eager: bool
    """In start-up: grow on weaker proof of health."""


class Baseline(NamedTuple):
    """``lows`` are upper bounds of the unqueued median; the smallest is the baseline.

    The smallest of *upper* bounds can't creep down on noise, as the smallest sample does.
    ``reserve`` gathers healthy samples until they are precise enough for one more bound;
    ``pooled`` are the samples at the present limit; ``evidence`` sums over limits.
    """

    lows: tuple[float, ...] = ()
    reserve: tuple[float, ...] = ()
    reserve_low: float | None = None
    pooled: tuple[float, ...] = ()
    look: int = FEWEST
    """Size of ``pooled`` at which it is tested next: on doublings, or chance would find a queue."""
    spread: float = 0.0
    weighed: int = 0
    """Samples behind ``spread``, at most 400."""
    evidence: float = 0.0

    @property
    def low(self) -> float | None:
        """The baseline as far as earlier limits tell."""
        known = self.lows if self.reserve_low is None else (*self.lows, self.reserve_low)
        return min(known) if known else None

    @property
    def cautious(self) -> float:
        """The spread with an allowance for how little it was measured."""
        return self.spread * (1.0 + 2.5 / math.sqrt(max(16, self.weighed)))

    def afresh(self) -> Baseline:
        """The present limit's samples don't count: it was congested, or has changed meanwhile."""
        return self._replace(pooled=(), look=FEWEST)

    def ended(self, sense: Sense) -> Baseline:
        """The limit goes on from health: its samples join the reserve, or begin one anew.

        They begin one anew where they are surely faster: what was there before has passed.
        """
        if not self.pooled:
            return self
        spread = self.cautious
        pool = median(sorted(self.pooled))
        faster = self.reserve_low is not None and (
            pool.value + UPPER * pool.error(spread) < self.reserve_low - 0.02
        )
        reserve = self.pooled if faster else (*self.reserve, *self.pooled)
        whole = median(sorted(reserve))
        error = whole.error(spread)
        low = whole.value + UPPER * error
        if error <= sense.precise or len(reserve) >= POOL:
            lows = (*self.lows, low)[-sense.epochs :]
            return self.afresh()._replace(lows=lows, reserve=(), reserve_low=None)
        return self.afresh()._replace(reserve=reserve, reserve_low=low)

    def retold(self, change: float) -> Baseline:
        """The same knowledge where each latency is longer by so many seconds."""
        low = self.reserve_low
        return self._replace(
            lows=longer(self.lows, change),
            reserve=longer(self.reserve, change),
            reserve_low=None if low is None else longer((low,), change)[0],
            pooled=longer(self.pooled, change),
        )

    def moved(self, median_now: float, error: float) -> Baseline:
        """What seemed a queue is the new normal."""
        lows = (median_now + UPPER * error,)
        return self.afresh()._replace(lows=lows, reserve=(), reserve_low=None, evidence=0.0)


class Reading(NamedTuple):
    """One cohort, read against the baseline; ``after`` is the baseline that has learned it."""

    after: Baseline
    low: float
    value: float
    error: float
    pool: float
    pool_error: float
    full: bool
    """The pool holds as many samples as help."""
    congested: bool
    clean: bool
    depth: float
    depth_error: float
    """The median that showed the congestion, and its standard error."""


def read(base: Baseline, ordered: list[float], sense: Sense, *, overdue: bool = False) -> Reading:
    """Judge one cohort; ``overdue`` says that its median is at least what is given."""
    one = median(ordered)
    base = base if overdue else _spread(base, one)
    spread = base.cautious
    error = one.error(max(spread, 0.7 * one.spread))
    useful = 2.0 * (1.253 * base.spread / (0.5 * sense.tolerance)) ** 2
    most = int(max(FEWEST, min(POOL, useful)))
    pooled = (*base.pooled, *ordered)[-most:]
    pool_ordered = sorted(pooled)
    pool = median(pool_ordered)
    pool_error = pool.error(max(spread, 0.7 * pool.spread))
    bound = pool.value + UPPER * pool_error
    low = bound if base.low is None else min(base.low, bound)
    evidence = _summed(base.evidence, one.value - low - sense.tolerance, error)
    edge = low + sense.tolerance
    look, depth, depth_error = base.look, one.value, error
    if overdue or _above(ordered, one.value, error, edge, sense.z_cohort):
        congested = True
    elif evidence > PROOF:
        congested, depth, depth_error = True, pool.value, pool_error
    elif len(pooled) >= base.look:
        look, depth, depth_error = min(2 * base.look, most), pool.value, pool_error
        congested = _above(pool_ordered, pool.value, pool_error, edge, sense.z_epoch)
    else:
        congested = False
    slack = pool_error if sense.eager else min(pool_error, 0.5 * sense.tolerance)
    healthy = pool.value <= low + 0.5 * sense.tolerance + slack and evidence < DOUBT
    return Reading(
        after=base._replace(pooled=pooled, look=look, evidence=evidence),
        low=low,
        value=one.value,
        error=error,
        pool=pool.value,
        pool_error=pool_error,
        full=len(pooled) >= most,
        congested=congested,
        clean=healthy and not congested,
        depth=depth,
        depth_error=depth_error,
    )


def _spread(base: Baseline, one: Median) -> Baseline:
    """The plain mean of the cohorts' spreads at first, a moving one from 400 samples on."""
    weighed = min(400, base.weighed + one.size)
    share = min(1.0, one.size / weighed)
    return base._replace(spread=base.spread + (one.spread - base.spread) * share, weighed=weighed)


def _above(ordered: list[float], value: float, error: float, edge: float, z: float) -> bool:
    """Surely above the edge: by the standard error, and by ranks, which no distribution fools."""
    return value > edge + z * error and surely_above(ordered, z) > edge


def _summed(evidence: float, excess: float, error: float) -> float:
    """Page's CUSUM: the log-likelihood ratio of a SHIFT against none, never below zero."""
    return max(0.0, evidence + min(SINGLE, SHIFT / error**2 * (excess - SHIFT / 2)))

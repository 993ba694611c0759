"""What each look allows to be said by one criterion: harm, pass, or neither.

All of it is arrays along the blocks (and along any number of runs before that), so the verdict of
one comparison and a simulation of thousands are the same arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from measurement.comparison.confidence_sequence import (
    LEAST_BLOCKS,
    Array,
    Running,
    radius,
    running,
)
from measurement.comparison.e_process import reaches
from measurement.comparison.fixed_budget import bounds, look_blocks

POOLED_EVENTS = 30
"""With fewer bad events in both arms together, or fewer good ones, the variance is too small to be
believed: where nearly all are alike, so are the blocks, whatever the arms are."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rule:
    """How one criterion is judged. ``alpha_harm`` is its own share; ``planned`` None: no budget."""

    alpha: float
    alpha_harm: float
    pass_margin: ArrayLike
    harm_margin: float
    scale: float
    planned: int | None = None
    guardrail: bool = True
    closed: bool = False
    """Whether the last block is over: the last look is taken there, however many said nothing."""

    @property
    def bets(self) -> bool:
        """Whether E may call harm: it knows only a margin of 0, and looks after every block."""
        return self.planned is None and self.harm_margin == 0


@dataclass(frozen=True, slots=True)
class Looks:
    """After each block; a radius is infinite where nothing can be said yet."""

    running: Running
    harm_radius: Array
    pass_radius: Array
    pooled: Array
    harm: Flags
    passes: Flags
    rare: Flags
    """Passed by clean blocks alone, as bad events were too rare for the variance."""


def clean_blocks(alpha: float, margin: ArrayLike) -> Any:
    """k ≥ ln(1/α)/δ: so many blocks without one bad event, and a gap of δ is as unlikely as α."""
    return math.log(1 / alpha) / np.maximum(np.asarray(margin, dtype=np.float64), 1e-300)


def look(
    differences: ArrayLike,
    baseline_bad: ArrayLike,
    candidate_bad: ArrayLike,
    rule: Rule,
    *,
    offered: ArrayLike,
) -> Looks:
    """Every look at a series of blocks that all have a difference.

    ``offered``: requests of both arms of which something is known, in each block.
    """
    run = running(differences)
    theirs = np.cumsum(np.asarray(candidate_bad, dtype=np.float64), axis=-1)
    pooled = theirs + np.cumsum(np.asarray(baseline_bad, dtype=np.float64), axis=-1)
    good = np.cumsum(np.asarray(offered, dtype=np.float64), axis=-1) - pooled
    harm_radius, pass_radius = _radii(run, rule)
    harm = run.mean - harm_radius > rule.harm_margin
    if not rule.guardrail:
        harm = np.zeros_like(harm)
    elif rule.bets:
        harm = harm | reaches(2 / rule.alpha_harm, run.sum, run.squares, rule.scale)
    margin = np.asarray(rule.pass_margin, dtype=np.float64)
    believed = np.minimum(pooled, good) >= POOLED_EVENTS
    shown = (run.mean + pass_radius < margin) & believed
    rare = (theirs == 0) & (pooled < POOLED_EVENTS) & (margin > 0)
    rare &= run.k >= np.maximum(clean_blocks(rule.alpha, margin), LEAST_BLOCKS)
    return Looks(run, harm_radius, pass_radius, pooled, harm, shown | rare, rare)


def _radii(run: Running, rule: Rule) -> tuple[Array, Array]:
    """For harm and for pass. Where E takes half of α, the radius has the other half."""
    if rule.planned is None:
        level = rule.alpha_harm / 2 if rule.bets else rule.alpha_harm
        return radius(run.variance, run.k, level), radius(run.variance, run.k, rule.alpha)
    error = np.sqrt(run.variance / run.k)
    factors = (
        _factors(run.k, rule, rule.alpha_harm / 2),
        _factors(run.k, rule, rule.alpha / 2),
    )
    harm, passes = (
        np.where(np.isfinite(z), error * np.where(np.isfinite(z), z, 0.0), np.inf) for z in factors
    )
    return harm, passes


def _factors(k: Array, rule: Rule, level: float) -> Array:
    """z where one looks, infinite elsewhere."""
    z = np.full(k.shape, np.inf)
    for blocks, bound in zip(look_blocks(rule.planned or 0), bounds(level), strict=True):
        if blocks >= LEAST_BLOCKS:
            z[k == blocks] = bound
    # Looks that lie closer together agree more often, so the last bound errs on the safe side
    # after fewer blocks as well; without it a comparison that lost one block could decide nothing.
    if rule.closed and k.size and k[-1] >= LEAST_BLOCKS:
        z[-1] = bounds(level)[-1]
    return z

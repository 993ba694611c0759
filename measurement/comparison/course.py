"""How one criterion went, block by block: what a picture of a comparison shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from measurement.comparison.block import Block
from measurement.comparison.confidence_sequence import LEAST_BLOCKS, radius
from measurement.comparison.criterion import Criterion
from measurement.comparison.criterion_verdict import Series, rounded
from measurement.comparison.fixed_budget import bounds, look_blocks
from measurement.comparison.plan import Budget, ComparisonPlan
from measurement.comparison.power import rule_of


@dataclass(frozen=True, slots=True)
class Point:
    """After the ``k``-th block that says something. Shares; None where nothing can be said yet."""

    block: int
    k: int
    d: float
    """This block's difference."""
    m: float
    """Mean of the differences so far."""
    low: float | None
    """m less its radius: harm is called where it is above the harm margin."""
    high: float | None
    """m and its radius: a pass needs it under the pass margin."""
    look: bool
    """Whether the plan looks here; with a fixed budget nothing is decided in between."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def course(plan: ComparisonPlan, criterion: Criterion, blocks: Sequence[Block]) -> list[Point]:
    """The points of the blocks so far.

    Where a fixed budget does not look, the band is that of the look to come: z·s/√k with its z;
    of few blocks, which may be alike by chance, there is none. Once all planned blocks are over,
    the last look is at the last that says something.
    """
    series = Series(plan, criterion, blocks)
    run = series.looks.running if series.used else None
    found = []
    for place, block in enumerate(series.used):
        k = place + 1
        mean = float(run.mean[place]) if run is not None else 0.0
        spread = float(run.variance[place]) if run is not None else 0.0
        last = series.closed and k == len(series.used)
        harm, passes = _radii(plan, criterion, k, spread, last=last)
        found.append(
            Point(
                block=block.index,
                k=k,
                d=rounded(block.difference(criterion.name)) or 0.0,
                m=rounded(mean) or 0.0,
                low=None if harm is None else rounded(mean - harm),
                high=None if passes is None else rounded(mean + passes),
                look=_looks(plan, k, last=last),
            )
        )
    return found


def _looks(plan: ComparisonPlan, k: int, *, last: bool) -> bool:
    if k < LEAST_BLOCKS:
        return False
    return plan.budget != Budget.FIXED or last or k in look_blocks(plan.blocks)


def _radii(
    plan: ComparisonPlan, criterion: Criterion, k: int, variance: float, *, last: bool
) -> tuple[float | None, float | None]:
    if k < LEAST_BLOCKS:
        return None, None
    rule = rule_of(plan, criterion)
    if rule.planned is None:
        level = rule.alpha_harm / 2 if rule.bets else rule.alpha_harm
        return float(radius(variance, k, level)), float(radius(variance, k, rule.alpha))
    error = math.sqrt(variance / k)
    turn = next((at for at, due in enumerate(look_blocks(rule.planned)) if due >= k), 3)
    turn = 3 if last else turn
    return bounds(rule.alpha_harm / 2)[turn] * error, bounds(rule.alpha / 2)[turn] * error

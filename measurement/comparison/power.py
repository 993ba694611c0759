"""What a plan can find: its chances of harm and of pass, and the least that is detectable now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from measurement.comparison.confidence_sequence import LEAST_BLOCKS, radius
from measurement.comparison.criterion import Criterion
from measurement.comparison.fixed_budget import bounds
from measurement.comparison.looks import Rule, clean_blocks, look
from measurement.comparison.plan import Budget, ComparisonPlan

ENOUGH = 0.8
"""Under this chance a plan is warned about; and what is found with it counts as detectable."""
_Z = NormalDist().inv_cdf(ENOUGH)
_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Power:
    """One criterion's chances over the planned blocks."""

    criterion: str
    gap: float
    """The gap that harm is to be found at: what would be too much to pass."""
    harm: float
    passes: float
    """With arms that don't differ."""
    median_block: int | None
    """By which half of the passes are reached; None where none is."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "criterion": self.criterion,
            "gap": self.gap,
            "harm": self.harm,
            "pass": self.passes,
            "median_block": self.median_block,
            "warnings": list(self.warnings),
        }


def rule_of(plan: ComparisonPlan, criterion: Criterion, *, closed: bool = False) -> Rule:
    """How the plan has this criterion judged; ``closed``: its last block is over."""
    return Rule(
        alpha=plan.alpha,
        alpha_harm=plan.alpha_harm,
        pass_margin=criterion.pass_margin,
        harm_margin=criterion.harm_margin,
        scale=plan.scale(criterion),
        planned=plan.blocks if plan.budget == Budget.FIXED else None,
        guardrail=criterion.guardrail,
        closed=closed,
    )


def plan_power(plan: ComparisonPlan, rng: np.random.Generator) -> tuple[Power, ...]:
    """Each criterion's chances, in the plan's order: what a plan shows before it starts."""
    return tuple(power(plan, criterion, rng) for criterion in plan.criteria)


def power(
    plan: ComparisonPlan,
    criterion: Criterion,
    rng: np.random.Generator,
    *,
    gap: float | None = None,
    runs: int = 2000,
) -> Power:
    """By simulation of the very looks that will be taken. ``gap``: the pass margin by default."""
    gap = criterion.pass_margin + criterion.harm_margin if gap is None else gap
    runs = max(200, min(runs, _CELLS // plan.blocks))
    harm, _ = _outcomes(plan, criterion, gap, runs, rng)
    _, passed = _outcomes(plan, criterion, 0.0, runs, rng)
    first = np.argmax(passed, axis=1)[passed.any(axis=1)] + 1
    found = float(harm.any(axis=1).mean())
    shown = len(first) / runs
    return Power(
        criterion=criterion.name,
        gap=gap,
        harm=found,
        passes=shown,
        median_block=int(np.median(first)) if len(first) else None,
        warnings=tuple(_warnings(plan, criterion, gap, found, shown)),
    )


def _outcomes(
    plan: ComparisonPlan, criterion: Criterion, gap: float, runs: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Harm and pass at each look of simulated runs."""
    shape, n, base = (runs, plan.blocks), plan.requests, criterion.base
    baseline = rng.binomial(n, base, shape)
    candidate = rng.binomial(n, min(1.0, base + gap), shape)
    counted = 2 * base * (1 - base) / n
    beyond = math.sqrt(max(0.0, plan.scale(criterion) ** 2 - counted)) if criterion.scale else 0.0
    differences = (candidate - baseline) / n + beyond * rng.standard_normal(shape)
    looks = look(
        differences, baseline, candidate, rule_of(plan, criterion), offered=np.full(shape, 2 * n)
    )
    return looks.harm, looks.passes


def _warnings(
    plan: ComparisonPlan, criterion: Criterion, gap: float, harm: float, passes: float
) -> list[str]:
    size = f"{plan.blocks:,} blocks of {plan.requests:,} requests an arm"
    remedy = "Plan more or longer blocks, or a wider margin."
    found = []
    if criterion.guardrail and harm < ENOUGH:
        found.append(
            f"A candidate worse by {100 * gap:.3g} points of {criterion.label} would be called "
            f"harm in only {100 * harm:.0f} % of comparisons of {size}. {remedy}"
        )
    if passes < ENOUGH:
        found.append(
            f"An equal candidate would pass {criterion.label} with a margin of "
            f"{100 * criterion.pass_margin:.3g} points in only {100 * passes:.0f} % of "
            f"comparisons of {size}. {remedy}"
        )
    return found


def detectable(plan: ComparisonPlan, criterion: Criterion, k: int, variance: float) -> float | None:
    """The smallest true gap that k blocks of such variance call harm with a chance of 80 %.

    None before the radius means anything. Never less than what clean blocks alone can exclude
    where the blocks don't vary at all.
    """
    if k < LEAST_BLOCKS:
        return None
    rule = rule_of(plan, criterion)
    error = math.sqrt(variance / k)
    if rule.planned is not None:
        reach = bounds(rule.alpha_harm / 2)[-1] * error
    else:
        level = rule.alpha_harm / 2 if rule.bets else rule.alpha_harm
        reach = float(radius(variance, k, level))
    if not error:
        return min(1.0, criterion.harm_margin + float(clean_blocks(plan.alpha, k)))
    return min(1.0, criterion.harm_margin + reach + _Z * error)

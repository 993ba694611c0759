"""Harm alone, of what still serves while a rollout waits for people or is held.

A canary's first decision stands, so that its verdict would say pass, or invalid, whatever comes.
The confidence sequence and E are valid at every block: looking on adds no false harm beyond α.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from controlplane.rollouts.machine import Finding
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.stages.base import Found
from controlplane.rollouts.stages.canary import comparison_plan, evidence_of
from controlplane.rollouts.stages.full import mostly_fails
from measurement.comparison import words
from measurement.comparison.block import Block
from measurement.comparison.criterion_verdict import HARM, CriterionVerdict, Series
from measurement.comparison.health import faults, hard_stop
from measurement.comparison.plan import ComparisonPlan
from measurement.comparison.stored import store


def guard(rollout: Rollout, run: StageRun, now: datetime) -> Found | None:
    """What harms of a canary or a full stage that nobody looks at for a pass; None if nothing."""
    if run.kind == "full":
        stop = mostly_fails(rollout, run, now)
        return Found(Finding.HARM, stop, 0) if stop else None
    if not run.setting:
        return None
    plan, evidence = comparison_plan(rollout, run), evidence_of(rollout, run, now)
    reasons = _stops(evidence.blocks)
    clean = [one for place, one in enumerate(evidence.blocks) if not _broken(plan, evidence, place)]
    rows = _rows(plan, clean)
    if not reasons and not any(row.outcome == HARM for row in rows):
        return None
    because = words.because(HARM, rows, reasons, len(clean), over=False)
    told: dict[str, Any] = {
        "outcome": HARM,
        "because": because,
        "k": len(clean),
        "criteria": [row.to_json() for row in rows],
    }
    stored = {**store(plan, evidence), "guard": told}
    return Found(Finding.HARM, because, len(evidence.blocks), stored)


def _stops(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Hard stops; blocks that are no evidence of health are evidence enough of those."""
    found = (hard_stop(blocks, place) for place in range(len(blocks)))
    return tuple(words.capital(one) for one in found if one)[:1]


def _broken(plan: ComparisonPlan, evidence: Any, place: int) -> bool:
    return bool(faults(plan, evidence.blocks, place))


def _rows(plan: ComparisonPlan, blocks: Sequence[Block]) -> list[CriterionVerdict]:
    """Each criterion at the first block at which one of them is harm, else at the last."""
    series = [Series(plan, criterion, blocks) for criterion in plan.criteria]
    places = range(len(blocks))
    last = len(blocks) - 1
    place = next((p for p in places if any(one.harm(p) for one in series)), last)
    return [one.verdict(place) for one in series]

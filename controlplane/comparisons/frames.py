"""The one message a comparison's page lives on: whatever changed after a seq, ready to draw.

Shaped like a run's frame where they share it, so that the page's way of listening is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from controlplane.comparisons import presenting
from controlplane.comparisons.models import Comparison, ComparisonBlock
from controlplane.runs.frames import Frame
from measurement.comparison.block import Block
from measurement.comparison.course import course
from measurement.comparison.plan import ComparisonPlan


def build(comparison: Comparison, *, since: int) -> Frame:
    """Everything that changed after ``since``; ``full`` when that is everything there is."""
    rows = list(ComparisonBlock.objects.filter(comparison=comparison))
    blocks = [Block.from_json(row.data) for row in rows]
    new = {row.index for row in rows if row.seq > since}
    plan = ComparisonPlan.parse(comparison.plan)
    return {
        "type": "frame",
        "full": since <= 0,
        "seq": comparison.seq,
        "run": state(comparison),
        "verdict": presenting.verdict(comparison),
        "criteria": presenting.criteria(comparison),
        "arms": presenting.arms(comparison),
        "blocks": [
            presenting.block_row(block, row.arms, plan)
            for block, row in zip(blocks, rows, strict=True)
            if block.index in new
        ],
        "courses": _courses(plan, blocks, new),
    }


def state(comparison: Comparison) -> dict[str, Any]:
    """Where it stands in time; what is left is waiting time, as its worker reckons it."""
    left = comparison.live.get("left_s") if comparison.is_live else 0.0
    updated_at = (
        comparison.ended_at or comparison.heartbeat_at or comparison.created_at or timezone.now()
    )
    return {
        "status": comparison.status,
        "elapsed_s": round(comparison.elapsed_s, 3),
        "duration_s": comparison.duration_s,
        "left_s": None if left is None else round(left, 1),
        "updated_at": updated_at.isoformat().replace("+00:00", "Z"),
    }


def figures(comparison: Comparison) -> list[dict[str, Any]]:
    """What the page needs to know once of each criterion's picture."""
    plan = ComparisonPlan.parse(comparison.plan)
    return [
        {
            "name": one.name,
            "label": one.label,
            "pass_margin": 100 * one.pass_margin,
            "harm_margin": 100 * one.harm_margin,
            "blocks": plan.blocks,
        }
        for one in plan.criteria
    ]


def _courses(
    plan: ComparisonPlan, blocks: Sequence[Block], new: set[int]
) -> dict[str, list[list[Any]]]:
    """By criterion, rows of [block, D, m, low, high, look] in points, those of new blocks."""
    if not new:
        return {}
    return {
        criterion.name: [
            [
                point.block,
                *(
                    None if v is None else 100 * v
                    for v in (point.d, point.m, point.low, point.high)
                ),
                point.look,
            ]
            for point in course(plan, criterion, blocks)
            if point.block in new
        ]
        for criterion in plan.criteria
    }

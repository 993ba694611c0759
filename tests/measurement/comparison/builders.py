"""Plans and blocks for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from measurement.comparison.assignment import Design, draw
from measurement.comparison.block import ArmCounts, Block, Count
from measurement.comparison.plan import ComparisonPlan

BASELINE, CANDIDATE, ENGINE = "b" * 64, "c" * 64, "e" * 64


def document(*criteria: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A plan of 120 blocks, by attainment if no criterion is given."""
    return {
        "apiVersion": "headway/v1",
        "kind": "ComparisonPlan",
        "metadata": {"name": "steady-against-fixed", "owner": "platform"},
        "spec": {
            "baseline": BASELINE,
            "candidate": CANDIDATE,
            "seed": 7,
            "blocks": 120,
            "criteria": list(criteria) or [{"kind": "attainment"}],
            **spec,
        },
    }


def plan(*criteria: dict[str, Any], **spec: Any) -> ComparisonPlan:
    """The same, parsed."""
    return ComparisonPlan.parse(document(*criteria, **spec))


def arm(policy: str, bad: int = 0, n: int = 60, **changes: Any) -> ArmCounts:
    """One arm's side by attainment, healthy unless changed."""
    values: dict[str, Any] = {
        "scheduled": n,
        "counts": {"attainment": Count(n, bad, 0)},
        "policies": frozenset([policy]),
        "engines": frozenset([ENGINE]),
    }
    return ArmCounts(**(values | changes))


def block(of: ComparisonPlan, index: int, a: ArmCounts, b: ArmCounts, **changes: Any) -> Block:
    """One block that ran as drawn and ended 30 s after the one before."""
    values: dict[str, Any] = {
        "index": index,
        "order": draw(of.seed, index, Design(of.design)),
        "ended_at": 30.0 * (index + 1),
        "baseline": a,
        "candidate": b,
    }
    return Block(**(values | changes))


def blocks(
    of: ComparisonPlan, baseline: Iterable[int], candidate: Iterable[int], n: int = 60
) -> tuple[Block, ...]:
    """A block for each pair of bad counts."""
    return tuple(
        block(of, index, arm(BASELINE, a, n), arm(CANDIDATE, b, n))
        for index, (a, b) in enumerate(zip(baseline, candidate, strict=True))
    )


def drawn(share: float, count: int, seed: int, n: int = 60) -> Sequence[int]:
    """Bad counts of independent requests."""
    found: list[int] = np.random.default_rng(seed).binomial(n, share, count).tolist()
    return found

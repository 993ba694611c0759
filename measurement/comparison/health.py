"""What ends a comparison outside its statistics: hard stops, and blocks that are no evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from measurement.comparison.assignment import Arm, Design, draw
from measurement.comparison.block import ArmCounts, Block
from measurement.comparison.plan import ComparisonPlan, Stimulus

HARD_STOP_SHARE = 0.5
HARD_STOP_BLOCKS = 2


def hard_stop(blocks: Sequence[Block], place: int) -> str:
    """Why the candidate has to go at once, after the block at that place; empty if it has not.

    An overload that fails most of both arms' requests is no fault of the candidate.
    """
    if not blocks[place].candidate.reachable:
        return f"the candidate could not be reached in block {blocks[place].index}"
    last = blocks[max(0, place - HARD_STOP_BLOCKS + 1) : place + 1]
    if len(last) == HARD_STOP_BLOCKS and all(
        _mostly_fails(block.candidate) and not _mostly_fails(block.baseline) for block in last
    ):
        failed = sum(block.candidate.failed for block in last)
        judged = sum(block.candidate.judged for block in last)
        return (
            f"{100 * failed / judged:.1f} % of the candidate's requests failed in "
            f"{HARD_STOP_BLOCKS} blocks in a row, and not of the baseline's"
        )
    return ""


def _mostly_fails(arm: ArmCounts) -> bool:
    return arm.judged > 0 and arm.failed > HARD_STOP_SHARE * arm.judged


def faults(plan: ComparisonPlan, blocks: Sequence[Block], place: int) -> tuple[str, ...]:
    """Why the block at that place is no evidence, in sentences with a remedy."""
    block = blocks[place]
    return (
        *_gap(block, place),
        *_wrong_order(plan, block),
        *_wrong_policy(plan, block),
        *_engines(blocks, block),
        *block.baseline.faults,
        *block.candidate.faults,
        *_unequal_replay(plan, block),
    )


def _gap(block: Block, place: int) -> Iterator[str]:
    if block.index != place:
        yield (
            f"Block {place} has no telemetry, though block {block.index} has. A gap is no evidence "
            "of health: find out what fell silent."
        )
    for name, arm in zip(Arm, block.arms, strict=True):
        if not arm.heard:
            yield (
                f"The {name}'s telemetry of block {block.index} is missing, though later windows "
                "have arrived. A gap is no evidence of health: find out what fell silent."
            )


def _wrong_order(plan: ComparisonPlan, block: Block) -> Iterator[str]:
    drawn = draw(plan.seed, block.index, Design(plan.design))
    if block.order != drawn:
        yield (
            f"Block {block.index} ran as {block.order}, and seed {plan.seed} draws {drawn}. "
            "Without the draw, lanes that differ are not told from policies that do."
        )


def _wrong_policy(plan: ComparisonPlan, block: Block) -> Iterator[str]:
    for name, arm in zip(Arm, block.arms, strict=True):
        if arm.scheduled and arm.heard and not arm.policies:
            yield (
                f"Nobody said which policy the {name} ran in block {block.index}. Report its hash "
                "with the counts."
            )
        for other in sorted(arm.policies - {plan.approved[name]}):
            yield (
                f"The {name} ran policy {other[:12]} in block {block.index}, where "
                f"{plan.approved[name][:12]} is approved. Put that back, and start anew."
            )


def _engines(blocks: Sequence[Block], block: Block) -> Iterator[str]:
    first = next((arm.engines for one in blocks for arm in one.arms if arm.engines), frozenset())
    seen = sorted(first | block.baseline.engines | block.candidate.engines)
    if len(seen) > 1:
        yield (
            f"The engines are not equivalent: {len(seen)} configurations answered "
            f"({', '.join(one[:12] for one in seen)}). Give both lanes the same, and start anew."
        )


def _unequal_replay(plan: ComparisonPlan, block: Block) -> Iterator[str]:
    if plan.stimulus != Stimulus.REPLAY:
        return
    a, b = block.arms
    if (a.scheduled, a.stimulus) != (b.scheduled, b.stimulus):
        yield (
            f"The arms were not asked the same in block {block.index}: the baseline had "
            f"{a.scheduled:,} requests and the candidate {b.scheduled:,}"
            + (", at other times or for other tenants" if a.scheduled == b.scheduled else "")
            + ". Replay one schedule on both."
        )

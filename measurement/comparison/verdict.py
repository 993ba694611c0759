"""The verdict of a comparison after each block: harm, pass, inconclusive or invalid, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from measurement.comparison import words
from measurement.comparison.block import Block
from measurement.comparison.criterion_verdict import (
    HARM,
    INCONCLUSIVE,
    INVALID,
    PASS,
    CriterionVerdict,
    Series,
    rounded,
)
from measurement.comparison.health import faults, hard_stop
from measurement.comparison.load import UNEQUAL, sign_flip_p
from measurement.comparison.plan import ComparisonPlan, Stimulus
from measurement.verdict import EXIT_CODES

CONTINUE, HOLD, ROLL_BACK, ADVANCE = "continue", "hold", "roll_back", "advance"
RUNNING, FINAL = "running", "final"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known when one looks: the closed blocks in order, and how things stand now."""

    blocks: tuple[Block, ...] = ()
    elapsed_s: float = 0.0
    silent: tuple[str, ...] = ()
    """Arms whose telemetry is stale at this moment."""
    accepted: Mapping[str, str] = field(default_factory=dict)
    """Criteria too rare for their blocks, by name, and who passed them."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "blocks": [block.to_json() for block in self.blocks],
            "elapsed_s": self.elapsed_s,
            "silent": list(self.silent),
            "accepted": dict(self.accepted),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Evidence:
        """What ``to_json`` wrote."""
        return cls(
            blocks=tuple(Block.from_json(block) for block in given["blocks"]),
            elapsed_s=float(given["elapsed_s"]),
            silent=tuple(given["silent"]),
            accepted=dict(given["accepted"]),
        )


@dataclass(frozen=True, slots=True)
class ComparisonVerdict:
    """The first decision that the blocks allowed, or how things stand."""

    outcome: str
    action: str
    """What a host does: continue, hold (and ask a person), roll_back or advance."""
    state: str
    because: str
    reasons: tuple[str, ...]
    k: int
    """Blocks that it rests on; later ones are not looked at."""
    n: tuple[int, int]
    """Requests judged in them: baseline, candidate."""
    alpha: float
    alpha_harm: float
    seed: int
    plan_sha256: str
    criteria: tuple[CriterionVerdict, ...]
    load_p: float | None = None
    """Of the sign-flip test on live load; null until something is decided."""

    @property
    def exit_code(self) -> int:
        """What a command that ends with this verdict exits with: harm is a regression."""
        return EXIT_CODES["regression" if self.outcome == HARM else self.outcome]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "outcome": self.outcome,
            "action": self.action,
            "state": self.state,
            "because": self.because,
            "reasons": list(self.reasons),
            "k": self.k,
            "n": {"baseline": self.n[0], "candidate": self.n[1]},
            "alpha": self.alpha,
            "alpha_harm": self.alpha_harm,
            "seed": self.seed,
            "plan_sha256": self.plan_sha256,
            "criteria": [criterion.to_json() for criterion in self.criteria],
            "load_p": self.load_p,
            "exit_code": self.exit_code,
        }


@dataclass(frozen=True, slots=True)
class _Event:
    """What a block decided."""

    outcome: str
    place: int
    reasons: tuple[str, ...] = ()
    hard: bool = False
    over: bool = False
    """Inconclusive, and no more blocks will come."""


def judge(plan: ComparisonPlan, evidence: Evidence) -> ComparisonVerdict:
    """Take every look in turn; the first that decides is the verdict."""
    blocks = _eligible(plan, evidence)
    series = tuple(Series(plan, criterion, blocks) for criterion in plan.criteria)
    event = next(_events(plan, blocks, series, evidence.accepted), None)
    last = len(blocks) - 1
    if event is None or (event.outcome == PASS and event.place == last and evidence.silent):
        event = _standing(plan, evidence, last)
    load_p = _load_p(blocks[: event.place + 1]) if _needs_load(plan, event) else None
    if load_p is not None and load_p < UNEQUAL:
        event = _Event(INVALID, event.place, (words.unequal_load(load_p),))
    return _verdict(plan, blocks, series, event, (evidence.accepted, load_p))


def _events(
    plan: ComparisonPlan,
    blocks: Sequence[Block],
    series: tuple[Series, ...],
    accepted: Mapping[str, str],
) -> Iterator[_Event]:
    """Whatever decides, in order of blocks; in one block the safest first."""
    for place, block in enumerate(blocks):
        stop = hard_stop(blocks, place)
        if stop:
            yield _Event(HARM, place, (words.capital(stop),), hard=True)
        broken = faults(plan, blocks, place)
        if broken:
            yield _Event(INVALID, place, broken)
        if any(one.harm(place) for one in series):
            yield _Event(HARM, place)
        baked = block.ended_at >= plan.bake_s
        if baked and all(one.passes(place, one.criterion.name in accepted) for one in series):
            yield _Event(PASS, place)


def _eligible(plan: ComparisonPlan, evidence: Evidence) -> tuple[Block, ...]:
    """The planned blocks that ended in time."""
    planned = evidence.blocks[: plan.blocks]
    if plan.deadline_s is None:
        return planned
    return tuple(block for block in planned if block.ended_at <= plan.deadline_s)


def _standing(plan: ComparisonPlan, evidence: Evidence, last: int) -> _Event:
    """Nothing is decided: silence, the end, or simply not yet."""
    if evidence.silent:
        return _Event(INVALID, last, tuple(words.silent(arm) for arm in evidence.silent))
    return _Event(INCONCLUSIVE, last, over=_over(plan, evidence))


def _over(plan: ComparisonPlan, evidence: Evidence) -> bool:
    ended = max([evidence.elapsed_s, *(block.ended_at for block in evidence.blocks)])
    late = plan.deadline_s is not None and ended >= plan.deadline_s
    return late or len(evidence.blocks) >= plan.blocks


def _needs_load(plan: ComparisonPlan, event: _Event) -> bool:
    """Once, when the statistics decide or the time is over."""
    if plan.stimulus == Stimulus.REPLAY or event.hard or event.outcome == INVALID:
        return False
    return event.outcome in (HARM, PASS) or event.over


def _load_p(blocks: Sequence[Block]) -> float | None:
    counts = [block.candidate.scheduled - block.baseline.scheduled for block in blocks]
    return rounded(sign_flip_p(counts)) if counts else None


def _verdict(
    plan: ComparisonPlan,
    blocks: Sequence[Block],
    series: tuple[Series, ...],
    event: _Event,
    beside: tuple[Mapping[str, str], float | None],
) -> ComparisonVerdict:
    accepted, load_p = beside
    rows = tuple(one.verdict(event.place, accepted.get(one.criterion.name, "")) for one in series)
    counted = blocks[: event.place + 1]
    action = {HARM: ROLL_BACK, PASS: ADVANCE, INVALID: HOLD}.get(
        event.outcome, HOLD if event.over else CONTINUE
    )
    return ComparisonVerdict(
        outcome=event.outcome,
        action=action,
        state=RUNNING if action == CONTINUE else FINAL,
        because=words.because(event.outcome, rows, event.reasons, len(counted), over=event.over),
        reasons=event.reasons or words.reasons(event.outcome, rows),
        k=len(counted),
        n=(
            sum(block.baseline.judged for block in counted),
            sum(block.candidate.judged for block in counted),
        ),
        alpha=plan.alpha,
        alpha_harm=plan.alpha_harm,
        seed=plan.seed,
        plan_sha256=plan.sha256,
        criteria=rows,
        load_p=load_p,
    )

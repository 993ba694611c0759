"""Static batching: a batch begins together and the next one waits until the last has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.batching.base import (
    MOST_SEQUENCES,
    MOST_TOKENS,
    Load,
    StepPlan,
    Unlearning,
    batching_law,
    worth_waiting,
)
from schedulers.decision import Reason
from schedulers.law import Fault, Standing


@batching_law
@dataclass(frozen=True, slots=True)
class Static(Unlearning):
    """Up to ``size`` sequences begin when nothing runs; nobody joins until all of them have ended.
    A partial batch begins once its oldest has waited ``gather_ms``."""

    name: ClassVar[str] = "static"
    summary: ClassVar[str] = (
        "A batch begins together and ends together: the baseline from before continuous batching."
    )
    standing: ClassVar[Standing] = Standing.REFERENCE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "The batch lasts as long as its longest answer: with lognormal outputs of σ 0.6 and 16 "
            "sequences the places are empty for half of the time, and who arrives late waits for "
            "all of it."
        ),
    )

    size: int = parameter(
        default=16, minimum=1, maximum=MOST_SEQUENCES, unit="sequences", help="A full batch."
    )
    gather_ms: float = parameter(
        default=50.0,
        minimum=0.0,
        maximum=60_000.0,
        unit="ms",
        help="How long the first waits for the batch to fill.",
    )

    def plan(self, state: None, seen: Load, now: float) -> StepPlan:
        left = worth_waiting(self.gather_ms / 1e3 - seen.oldest_wait)
        gathering = seen.idle and 0 < seen.waiting < self.size and left > 0.0
        return StepPlan(
            reason=Reason.GATHERING if gathering else Reason.BATCH_RUNNING,
            token_budget=MOST_TOKENS,
            max_sequences=self.size,
            admit_waiting=seen.idle and not gathering,
            wait_s=left if gathering else 0.0,
        )

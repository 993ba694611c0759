"""Continuous batching: sequences join and leave at any step, under one token budget."""

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
)
from schedulers.decision import Reason
from schedulers.law import Fault, Standing


@batching_law
@dataclass(frozen=True, slots=True)
class Continuous(Unlearning):
    """One budget of tokens a step: decodes first, prompts in chunks with what is left (vLLM V1:
    ``max_num_batched_tokens``, ``max_num_seqs``)."""

    name: ClassVar[str] = "continuous"
    summary: ClassVar[str] = (
        "Sequences join at any step; one token budget a step, decoding first, prompts in chunks."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "The budget is a constant: large enough to prefill fast, it makes each step that "
            "prefills long for everyone who decodes."
        ),
    )

    token_budget: int = parameter(
        default=2048, minimum=256, maximum=MOST_TOKENS, unit="tokens", help="Tokens in one step."
    )
    max_sequences: int = parameter(
        default=128,
        minimum=1,
        maximum=MOST_SEQUENCES,
        unit="sequences",
        help="Sequences that run at once.",
    )

    def plan(self, state: None, seen: Load, now: float) -> StepPlan:
        full = seen.decoding + seen.prefill_tokens + seen.waiting_tokens > self.token_budget
        return StepPlan(
            reason=Reason.TOKEN_BUDGET if full else Reason.STEADY,
            token_budget=max(self.token_budget, seen.decoding),
            max_sequences=self.max_sequences,
        )

"""The largest step that decoding can afford: the recommended batching law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.batching.base import (
    MOST_SEQUENCES,
    MOST_TOKENS,
    Load,
    StepPlan,
    StepTaken,
    batching_law,
)
from schedulers.decision import Reason
from schedulers.law import Fault, Standing

BLOCK = 16
"""Prompts are cut in multiples of a KV block."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """τ = base + per_token × tokens, in seconds: the fit of the steps seen, weighted to the last.

    ``n``, means and second moments are those of a moving window of about 200 steps.
    """

    n: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    tokens2: float = 0.0
    product: float = 0.0

    def with_step(self, tokens: float, seconds: float) -> StepCost:
        """One more step."""
        n = min(200.0, self.n + 1.0)
        share = 1.0 / n
        return StepCost(
            n,
            self.tokens + share * (tokens - self.tokens),
            self.seconds + share * (seconds - self.seconds),
            self.tokens2 + share * (tokens * tokens - self.tokens2),
            self.product + share * (tokens * seconds - self.product),
        )

    def per_token(self) -> float | None:
        """Seconds that one more token adds; None while steps were too alike to tell."""
        spread = self.tokens2 - self.tokens**2
        if self.n < 8 or spread < max(64.0, 0.01 * self.tokens2):
            return None
        slope = (self.product - self.tokens * self.seconds) / spread
        return slope if slope > 0.0 else None


@batching_law
@dataclass(frozen=True, slots=True)
class TpotBudget:
    """A step's time is the time to the next token of everyone who decodes. With the cost of a step
    fitted as it runs, τ = t0 + t1 × tokens, the budget is the largest with::

        τ(decoding + chunk) ≤ margin × tpot_ms

    cut to whole blocks, never below ``least_chunk`` while prompts wait (they must go on), never
    above ``token_budget``. While nothing decodes the whole budget goes to prompts. Sequences that
    wait may begin only while decoding alone stays within the objective.
    """

    name: ClassVar[str] = "tpot_budget"
    summary: ClassVar[str] = (
        "Gives prompts as many tokens of a step as decoding can afford under its time per token; "
        "the cost of a step is learned."
    )
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "The fit is a line in tokens: where attention over very long contexts dominates, it is "
            "late by the steps of its window."
        ),
        Fault("Under a tight objective prompts get the least chunk only: TTFT pays for TPOT."),
    )

    tpot_ms: float = parameter(
        default=100.0, minimum=1.0, maximum=10_000.0, unit="ms", help="The objective for decoding."
    )
    margin: float = parameter(
        default=0.9, minimum=0.1, maximum=1.0, help="The share of it that a step may take."
    )
    token_budget: int = parameter(
        default=8192, minimum=256, maximum=MOST_TOKENS, unit="tokens", help="The largest step."
    )
    least_chunk: int = parameter(
        default=128,
        minimum=16,
        maximum=65_536,
        unit="tokens",
        help="What prompts get of a step at least, so that they go on.",
    )
    max_sequences: int = parameter(
        default=256,
        minimum=1,
        maximum=MOST_SEQUENCES,
        unit="sequences",
        help="Sequences that run at once.",
    )

    def start(self) -> StepCost:
        return StepCost()

    def plan(self, state: StepCost, seen: Load, now: float) -> StepPlan:
        slope = state.per_token()
        most = max(self.token_budget, seen.decoding)
        if seen.decoding == 0 or slope is None:
            return StepPlan(
                reason=Reason.STEADY, token_budget=most, max_sequences=self.max_sequences
            )
        base = max(0.0, state.seconds - slope * state.tokens)
        affordable = (self.margin * self.tpot_ms / 1e3 - base) / slope
        chunk = math.floor(max(0.0, affordable - seen.decoding) / BLOCK) * BLOCK
        budget = min(most, seen.decoding + max(self.least_chunk, chunk))
        return StepPlan(
            reason=Reason.TPOT_BUDGET if budget < most else Reason.TOKEN_BUDGET,
            token_budget=budget,
            max_sequences=self.max_sequences,
            admit_waiting=seen.decoding < affordable or seen.decoding < 2,
            inputs={"per_token_us": slope * 1e6, "base_ms": base * 1e3},
        )

    def stepped(self, state: StepCost, taken: StepTaken, now: float) -> StepCost:
        tokens = float(taken.decoding + taken.prefill_tokens)
        sound = math.isfinite(taken.seconds) and 0.0 < taken.seconds < 3600.0 and tokens > 0
        return state.with_step(tokens, taken.seconds) if sound else state

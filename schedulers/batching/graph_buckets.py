"""Captured graphs: decoding is padded up to the next captured size, within a bound on waste."""

from __future__ import annotations

from bisect import bisect_left
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

SPACINGS = ("doubling", "eights")


def _sizes(spacing: str, most: int) -> tuple[int, ...]:
    """1, 2, 4, then doublings (the batching source) or every eighth (vLLM), up to ``most``."""
    found, size = [1, 2, 4], 8
    while size < most:
        found.append(size)
        size = 2 * size if spacing == "doubling" else size + 8
    return tuple(size for size in (*found, most) if size <= most)


@batching_law
@dataclass(frozen=True, slots=True)
class GraphBuckets(Unlearning):
    """A step that only decodes n sequences runs the smallest captured graph of at least n, and
    computes for all of its places. Where more than ``pad_max`` of them would be empty, or prompts
    are prefilled, or n is over the largest, the step runs without a graph."""

    name: ClassVar[str] = "graph_buckets"
    summary: ClassVar[str] = (
        "Continuous batching on captured graphs: decoding is padded up to the next captured size, "
        "unless too much would be wasted."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "With sizes that double, as in the batching source, 33 sequences are padded to 64: "
            "94 % "
            "more than are there. Every eighth keeps it under a quarter from 29 on."
        ),
    )

    spacing: str = parameter(default="eights", choices=SPACINGS, help="The captured sizes.")
    largest: int = parameter(
        default=256, minimum=1, maximum=4096, unit="sequences", help="The largest captured size."
    )
    pad_max: float = parameter(
        default=0.25, minimum=0.0, maximum=1.0, help="Empty places for each sequence, at most."
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
        prompts = seen.prefill_tokens + seen.waiting_tokens
        full = seen.decoding + prompts > self.token_budget
        return StepPlan(
            reason=Reason.TOKEN_BUDGET if full else Reason.STEADY,
            token_budget=max(self.token_budget, seen.decoding),
            max_sequences=self.max_sequences,
            padded_to=None if prompts else self.padded(seen.decoding),
        )

    def sizes(self) -> tuple[int, ...]:
        """The captured sizes, in order."""
        return _sizes(self.spacing, self.largest)

    def padded(self, decoding: int) -> int | None:
        """The graph that runs so many, or None."""
        known = self.sizes()
        at = bisect_left(known, decoding)
        if decoding < 1 or at == len(known) or known[at] - decoding > self.pad_max * decoding:
            return None
        return known[at]

"""Progress per KV: the agents source's cache-aware order, kept as it is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedulers.law import Fault, Standing
from schedulers.ordering.base import Memoryless, Rank, Waiting, ordering_law


@ordering_law
@dataclass(frozen=True, slots=True)
class ProgressPerKv(Memoryless):
    """By progress / KV tokens, the highest first: who finishes soon and frees much goes on."""

    name: ClassVar[str] = "progress_per_kv"
    summary: ClassVar[str] = (
        "The agents source's order: most progress for each KV token goes first."
    )
    standing: ClassVar[Standing] = Standing.REFERENCE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "A new agent has no progress, so it ranks last for as long as others are there: it "
            "starves."
        ),
        Fault(
            "Ranked anew each round, agents swap places, and each swap evicts a context that must "
            "be computed again: the opposite of what it is for."
        ),
    )

    def rank(self, state: None, one: Waiting, now: float) -> Rank:
        score = one.progress / max(1, one.kv_tokens)
        return (-score, float(one.request.serial))

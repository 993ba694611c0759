"""Whoever has the least to lose gives way: the fewest tokens computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.preemption.base import Costs, Running, Victim, preemption_law


@preemption_law
@dataclass(frozen=True, slots=True)
class LeastProgress(Costs):
    """What is thrown away is the context that must be computed again, so the smallest goes."""

    name: ClassVar[str] = "least_progress"
    summary: ClassVar[str] = (
        "The sequence with the least computed work gives way, so that the least is thrown away."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Frees the least memory as well: several must go where one large sequence would have "
            "done, "
            "and new requests are starved by old ones."
        ),
    )

    def choose(self, running: Sequence[Running], now: float) -> Victim:
        return self.victim(running, Reason.LEAST_DONE, lambda one: -one.kv_tokens)

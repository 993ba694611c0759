"""The last to be scheduled gives way: vLLM's rule for first come, first served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.preemption.base import Costs, Running, Victim, preemption_law


@preemption_law
@dataclass(frozen=True, slots=True)
class Lifo(Costs):
    """Whoever was scheduled last goes; as vLLM V1 preempts the tail of what runs."""

    name: ClassVar[str] = "lifo"
    summary: ClassVar[str] = "The sequence that was scheduled last gives way, as in vLLM."
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Knows neither urgency nor progress: an urgent request that has just begun goes "
            "before a "
            "batch one that could wait."
        ),
    )

    def choose(self, running: Sequence[Running], now: float) -> Victim:
        return self.victim(running, Reason.LAST_IN)

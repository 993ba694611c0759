"""The least urgent tier gives way first, its last-scheduled before the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.preemption.base import Costs, Running, Victim, preemption_law


@preemption_law
@dataclass(frozen=True, slots=True)
class LowestPriority(Costs):
    """By tier, then by arrival: the youngest of the least urgent (vLLM: max(priority, arrival))."""

    name: ClassVar[str] = "lowest_priority"
    summary: ClassVar[str] = "The youngest of the least urgent tier gives way."
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "One tier pays for all: where batch runs at all, it is preempted again and again; only "
            "max_preemptions ends that."
        ),
    )

    def choose(self, running: Sequence[Running], now: float) -> Victim:
        return self.victim(
            running,
            Reason.LEAST_URGENT,
            lambda one: one.request.band,
            lambda one: one.request.arrived_at,
        )

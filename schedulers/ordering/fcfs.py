"""First come, first served."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.law import Fault, Standing
from schedulers.ordering.base import Memoryless, Rank, Waiting, late_from, ordering_law, too_late


@ordering_law
@dataclass(frozen=True, slots=True)
class Fcfs(Memoryless):
    """By arrival alone. ``drop_hopeless`` sheds what could not meet its deadline any more."""

    name: ClassVar[str] = "fcfs"
    summary: ClassVar[str] = (
        "First come, first served: the baseline that other laws are held against."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Blind to deadlines, sizes and tenants: one long prompt delays all behind it, and one "
            "tenant's burst everybody."
        ),
    )

    drop_hopeless: bool = parameter(
        default=False, help="Drop what could not be in time even if it went now."
    )

    def rank(self, state: None, one: Waiting, now: float) -> Rank:
        return (one.request.arrived_at, float(one.request.serial))

    def hopeless(self, one: Waiting, now: float) -> bool:
        return self.drop_hopeless and too_late(one, now)

    def hopeless_from(self, one: Waiting) -> float:
        return late_from(one) if self.drop_hopeless else math.inf

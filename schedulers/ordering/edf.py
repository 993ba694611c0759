"""Earliest deadline first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.law import Fault, Standing
from schedulers.ordering.base import Memoryless, Rank, Waiting, late_from, ordering_law, too_late


@ordering_law
@dataclass(frozen=True, slots=True)
class Edf(Memoryless):
    """By deadline; without one, by arrival + ``patience_s``, so that nobody waits for ever."""

    name: ClassVar[str] = "edf"
    summary: ClassVar[str] = (
        "The earliest deadline goes first; what could not be in time any more is dropped."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Without dropping it serves the late before those still in time and collapses: 2 % in "
            "time at load 1.1 on plant S16, where it reaches 96 % with dropping."
        ),
    )

    drop_hopeless: bool = parameter(
        default=True, help="Drop what could not be in time even if it went now."
    )
    patience_s: float = parameter(
        default=600.0, minimum=0.1, maximum=86_400.0, unit="s", help="Stands in for a deadline."
    )

    def rank(self, state: None, one: Waiting, now: float) -> Rank:
        request = one.request
        due = request.deadline_at
        if due is None:
            due = request.arrived_at + self.patience_s
        return (due, float(request.serial))

    def hopeless(self, one: Waiting, now: float) -> bool:
        return self.drop_hopeless and too_late(one, now)

    def hopeless_from(self, one: Waiting) -> float:
        return late_from(one) if self.drop_hopeless else math.inf

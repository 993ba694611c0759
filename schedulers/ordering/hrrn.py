"""Highest response ratio next: short ones first, but waiting counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedulers.law import Fault, Standing
from schedulers.ordering.base import Memoryless, Motion, Rank, Rise, Waiting, ordering_law


@ordering_law
@dataclass(frozen=True, slots=True)
class Hrrn(Memoryless):
    """By (wait + size) / size, the highest first: every wait wins in the end (sglang#32911)."""

    name: ClassVar[str] = "hrrn"
    summary: ClassVar[str] = (
        "Highest response ratio next: (wait + size) / size; short requests first, and long ones "
        "once they have waited long."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault("Knows no deadlines: under overload it is fair to everyone and in time for nobody."),
    )
    motion: ClassVar[Motion] = Motion.RISES

    def rank(self, state: None, one: Waiting, now: float) -> Rank:
        rise = self.rise(one)
        return (-max(0.0, now - rise.since) / rise.per, float(one.request.serial))

    def rise(self, one: Waiting) -> Rise:
        return Rise(one.request.arrived_at, max(1e-6, one.request.size()))

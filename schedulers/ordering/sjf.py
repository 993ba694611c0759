"""Shortest job first, by what its size is foretold to be; ageing bounds the wait of the long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.law import Fault, Standing
from schedulers.ordering.base import Memoryless, Motion, Rank, Waiting, ordering_law


@ordering_law
@dataclass(frozen=True, slots=True)
class Sjf(Memoryless):
    """By size; what has waited ``ageing_s`` goes before all that has not, in order of arrival."""

    name: ClassVar[str] = "sjf"
    summary: ClassVar[str] = (
        "The smallest request goes first: the least mean wait; who has waited long goes before all."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Sizes are predictions, and long requests pay for short ones: without ageing they wait "
            "for ever, and with much ageing it is first come, first served."
        ),
    )
    motion: ClassVar[Motion] = Motion.STEPS

    ageing_s: float = parameter(
        default=60.0, minimum=0.1, maximum=86_400.0, unit="s", help="The wait that makes it first."
    )

    def rank(self, state: None, one: Waiting, now: float) -> Rank:
        request = one.request
        if now - request.arrived_at >= self.ageing_s:
            return (0.0, request.arrived_at, float(request.serial))
        return (1.0, request.size(), float(request.serial))

    def stands_until(self, one: Waiting, now: float) -> float:
        arrived = one.request.arrived_at
        if now - arrived >= self.ageing_s:
            return math.inf
        # What is subtracted above rounds otherwise than this sum: sooner by more than that.
        return arrived + self.ageing_s - 1e-12 * (abs(arrived) + self.ageing_s)

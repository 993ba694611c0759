"""Least slack first, large requests last among equals: the recommended order for deadlines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.law import Fault, Standing
from schedulers.ordering.base import Memoryless, Rank, Waiting, late_from, ordering_law, too_late


@ordering_law
@dataclass(frozen=True, slots=True)
class SlackDensity(Memoryless):
    """rank = slack + κ × size, in seconds, with slack = deadline − now − size.

    Least slack alone prefers *large* requests among equal deadlines: each that it saves costs
    several small ones. κ × size weighs that: at κ = 1 this is earliest deadline first, above it
    what can be in time for little work goes first. ``now`` is the same for all that wait, so ranks
    stand still. Sizes are foretold service seconds; without one a request counts as size 0.
    """

    name: ClassVar[str] = "slack_density"
    summary: ClassVar[str] = (
        "Least slack first, but a large request must earn its place: most requests in time under "
        "overload. Drops what could not be in time."
    )
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Lives on deadlines and sizes: where they are missing it is first come, first served; "
            "sizes wrong by half cost up to 4 points of attainment (plant S16)."
        ),
        Fault("Knows no tenants: under overload whoever sends many small requests gets most."),
    )

    kappa: float = parameter(
        default=2.0, minimum=0.0, maximum=10.0, help="κ: how much a request's size counts."
    )
    drop_hopeless: bool = parameter(
        default=True, help="Drop what could not be in time even if it went now."
    )
    margin_s: float = parameter(
        default=0.0,
        minimum=0.0,
        maximum=600.0,
        unit="s",
        help="How much sooner that must be known.",
    )
    patience_s: float = parameter(
        default=600.0, minimum=0.1, maximum=86_400.0, unit="s", help="Stands in for a deadline."
    )

    def rank(self, state: None, one: Waiting, now: float) -> Rank:
        request = one.request
        size = request.service_s or 0.0
        due = request.deadline_at
        if due is None:
            due = request.arrived_at + self.patience_s
        return (due + (self.kappa - 1.0) * size, float(request.serial))

    def hopeless(self, one: Waiting, now: float) -> bool:
        return self.drop_hopeless and too_late(one, now, self.margin_s)

    def hopeless_from(self, one: Waiting) -> float:
        return late_from(one, self.margin_s) if self.drop_hopeless else math.inf

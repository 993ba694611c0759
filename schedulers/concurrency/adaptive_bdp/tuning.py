"""The parameters of ``adaptive_bdp``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from documents.fields import parameter
from schedulers.adaptive.baseline import Sense
from schedulers.concurrency.base import LIMIT_CEILING, SIGNALS, check_bounds

SMALL = 10.0
"""A limit of so many doubles the tolerance: clients with less yield later, with more sooner."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What an operator may set."""

    min: int = parameter(
        default=2,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The lowest limit.",
    )
    max: int = parameter(
        default=256,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The highest limit.",
    )
    initial: int = parameter(
        default=8,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The limit before anything was seen; between min and max. Warm: the last good one.",
    )
    tolerance: float = parameter(
        default=0.06,
        minimum=0.02,
        maximum=0.5,
        help="Rise of median latency over the baseline that is no queue yet.",
    )
    z_cohort: float = parameter(
        default=3.3,
        minimum=1.0,
        maximum=6.0,
        unit="standard errors",
        help="How surely one cohort must stand above that.",
    )
    z_epoch: float = parameter(
        default=2.5,
        minimum=1.0,
        maximum=6.0,
        unit="standard errors",
        help="How surely all cohorts of one limit must.",
    )
    cohort: int = parameter(
        default=25,
        minimum=10,
        maximum=500,
        unit="requests",
        help="Fewest requests of a cohort; fewer where the limit is smaller.",
    )
    epochs: int = parameter(
        default=30,
        minimum=2,
        maximum=500,
        unit="bounds",
        help="How many bounds of the baseline are remembered.",
    )
    startup_gain: float = parameter(
        default=1.25,
        minimum=1.05,
        maximum=2.0,
        help="The factor of a step in start-up, which ends with the first congestion.",
    )
    max_cut: float = parameter(
        default=0.6,
        minimum=0.2,
        maximum=0.85,
        help="The factor of the deepest cut.",
    )
    hold: int = parameter(
        default=4,
        minimum=0,
        maximum=100,
        unit="cohorts",
        help="Pause between a cut and growth beyond it.",
    )
    undo_elasticity: float = parameter(
        default=0.15,
        minimum=0.01,
        maximum=0.9,
        help="Fall of latency per fall of the limit, both relative, under which it is no queue.",
    )
    pace_elasticity: float = parameter(
        default=0.5,
        minimum=0.1,
        maximum=0.95,
        help="Streamed and ttft: rise of the time per token for that of the limit, both relative, "
        "from which growth ends.",
    )
    signal: str = parameter(
        default="ttft",
        choices=SIGNALS,
        help="Which latency is followed.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def sense(self, limit: float, *, startup: bool) -> Sense:
        """How sharply to look at that limit."""
        tolerance = math.log(1.0 + self.tolerance)
        return Sense(
            self.z_cohort,
            self.z_epoch,
            self.epochs,
            tolerance * (1.0 + SMALL / limit),
            0.5 * tolerance,
            startup,
        )

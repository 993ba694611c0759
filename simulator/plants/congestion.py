"""The congestion plant: a server that shares its capacity, with a knee, a cliff and refusals.

Processor sharing. Up to ``capacity`` requests inside run at full speed; up to ``knee`` each takes
n / capacity times longer, so throughput stands still while latency grows; from there latency
climbs in a straight line to ``top_s`` (for work of ``base_s``) at ``reject_at``, and throughput
falls off a cliff; a request that finds ``reject_at`` inside is refused after ``reject_s``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from documents.fields import parameter
from documents.problem import DocumentError, Problem

MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Congestion:
    """One plant. The defaults are the congestion source's: the optimum is 112.5 tasks a second."""

    capacity: int = parameter(
        default=45, minimum=1, maximum=MOST, unit="requests", help="Inside without any queueing."
    )
    knee: int = parameter(
        default=55, minimum=1, maximum=MOST, unit="requests", help="Inside before the cliff."
    )
    reject_at: int = parameter(
        default=70, minimum=1, maximum=MOST, unit="requests", help="Inside before refusals."
    )
    base_s: float = parameter(
        default=0.4,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=3600.0,
        unit="s",
        help="Mean work of a request: its time on the idle server.",
    )
    top_s: float = parameter(
        default=3.5,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=36_000.0,
        unit="s",
        help="How long base_s of work takes with reject_at inside.",
    )
    reject_s: float = parameter(
        default=0.05, minimum=0.0, maximum=3600.0, unit="s", help="Time that a refusal takes."
    )
    network_s: float = parameter(
        default=0.0, minimum=0.0, maximum=3600.0, unit="s", help="Time on the way, both ways."
    )

    def __post_init__(self) -> None:
        if not self.capacity <= self.knee < self.reject_at:
            message = "must be in order: capacity ≤ knee < reject_at"
            raise DocumentError([Problem("knee", self.knee, message)])
        if self.top_s / self.base_s < self.knee / self.capacity:
            message = "must be at least base_s × knee / capacity: the cliff starts there"
            raise DocumentError([Problem("top_s", self.top_s, message)])

    @property
    def optimum(self) -> float:
        """Tasks a second, with ``capacity`` to ``knee`` inside."""
        return self.capacity / self.base_s

    def slowness(self) -> Callable[[int], float]:
        """How many times longer work takes with that many inside, as a table's look-up."""
        knee = self.knee / self.capacity
        climb = (self.top_s / self.base_s - knee) / (self.reject_at - self.knee)
        capacity, bend = self.capacity, self.knee

        def factor(inside: int) -> float:
            if inside <= bend:
                return max(1.0, inside / capacity)
            return knee + climb * (inside - bend)

        return factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change of the plant at one instant; what is left out stays as it is."""

    at_s: float = parameter(minimum=0.0, maximum=1e7, unit="s", help="When it happens.")
    capacity: int | None = parameter(default=None, minimum=1, maximum=MOST, unit="requests")
    knee: int | None = parameter(default=None, minimum=1, maximum=MOST, unit="requests")
    reject_at: int | None = parameter(default=None, minimum=1, maximum=MOST, unit="requests")
    network_s: float | None = parameter(default=None, minimum=0.0, maximum=3600.0, unit="s")

    def of(self, plant: Congestion) -> Congestion:
        """The plant after the step."""
        return Congestion(
            capacity=self.capacity or plant.capacity,
            knee=self.knee or plant.knee,
            reject_at=self.reject_at or plant.reject_at,
            base_s=plant.base_s,
            top_s=plant.top_s,
            reject_s=plant.reject_s,
            network_s=plant.network_s if self.network_s is None else self.network_s,
        )


def next_step(steps: tuple[Step, ...], done: int) -> float:
    """When the next step comes; infinity after the last."""
    return steps[done].at_s if done < len(steps) else math.inf

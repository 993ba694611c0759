"""The ladder of a sweep: which loads, how often, and the scenario of each rung."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from loadtest.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Ladder:
    lowest: float = parameter(
        minimum=0.0, exclusive_minimum=True, maximum=20_000, unit="1/s", name="from"
    )
    highest: float = parameter(
        minimum=0.0, exclusive_minimum=True, maximum=20_000, unit="1/s", name="to"
    )
    steps: int = parameter(default=6, minimum=3, maximum=50, help="loads from the lowest up")
    repeats: int = parameter(
        default=3, minimum=1, maximum=20, help="whole ladders; three say whether it reproduces"
    )

    def __post_init__(self) -> None:
        if self.highest <= self.lowest:
            message = f"must be above the lowest load ({self.lowest:g} requests/s)"
            raise DocumentError([Problem("to", self.highest, message)])

    @property
    def rates(self) -> tuple[float, ...]:
        """Requests/s in equal steps, the ends among them."""
        return tuple(float(f"{r:.4g}") for r in np.linspace(self.lowest, self.highest, self.steps))

    def scenarios(self, base: Mapping[str, Any], repeat: int) -> Iterator[Scenario]:
        """One ladder, lowest load first. Each repeat has a seed of its own: luck is not a knee."""
        process = str((base.get("arrivals") or {}).get("process", "poisson"))
        if process == "closed":
            message = "a sweep raises the load of an open loop; choose poisson or constant"
            raise DocumentError([Problem("arrivals.process", process, message)])
        first = base.get("seed", 1)
        seed = first + repeat if isinstance(first, int) else first
        for rate in self.rates:
            arrivals = {**(base.get("arrivals") or {}), "process": process, "rate": rate}
            yield Scenario.parse({**base, "arrivals": arrivals, "seed": seed})

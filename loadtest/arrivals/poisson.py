"""Independent users: exponential gaps, so the count in any interval is Poisson.

Nothing is rescaled to hit a total and nothing is pinned to whole seconds: both are known ways to
make a process that is called Poisson and is not. A longer run starts with the same arrivals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest.arrivals.base import Instants, arrival_process


@arrival_process
@dataclass(frozen=True, slots=True)
class Poisson:
    name: ClassVar[str] = "poisson"
    summary: ClassVar[str] = "Exponential gaps; variance over mean of the counts is 1."
    open_loop: ClassVar[bool] = True

    rate: float = parameter(
        minimum=0.0,
        exclusive_minimum=True,
        maximum=20_000,
        unit="1/s",
        help="mean requests per second",
    )

    def expected(self, duration: float) -> float:
        return duration * self.rate

    def peak_rate(self, duration: float) -> float:  # noqa: ARG002
        return self.rate

    def instants(self, duration: float, rng: np.random.Generator) -> Instants:
        expected = duration * self.rate
        block = math.ceil(expected + 6 * math.sqrt(expected) + 16)
        instants = np.cumsum(rng.exponential(1 / self.rate, block))
        while instants[-1] < duration:
            more = instants[-1] + np.cumsum(rng.exponential(1 / self.rate, block))
            instants = np.concatenate((instants, more))
        return instants[instants < duration]

    def cv(self) -> float:
        return 1.0

    def dispersion(self) -> float:
        return 1.0

    def evened(self, at: Instants, duration: float) -> Instants:  # noqa: ARG002
        return at

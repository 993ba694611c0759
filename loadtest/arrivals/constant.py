"""Equal gaps: the i-th request is due at i / rate, computed from i and never by adding gaps up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest.arrivals.base import Instants, arrival_process


@arrival_process
@dataclass(frozen=True, slots=True)
class Constant:
    name: ClassVar[str] = "constant"
    summary: ClassVar[str] = "Equal gaps; the coefficient of variation of the gaps is 0."
    open_loop: ClassVar[bool] = True

    rate: float = parameter(
        minimum=0.0, exclusive_minimum=True, maximum=20_000, unit="1/s", help="requests per second"
    )

    def expected(self, duration: float) -> float:
        return duration * self.rate

    def peak_rate(self, duration: float) -> float:  # noqa: ARG002
        return self.rate

    def instants(self, duration: float, rng: np.random.Generator) -> Instants:  # noqa: ARG002
        instants = np.arange(math.ceil(duration * self.rate) + 1, dtype=np.float64) / self.rate
        return instants[instants < duration]

    def cv(self) -> float:
        return 0.0

    def dispersion(self) -> float:
        return 0.0

    def evened(self, at: Instants, duration: float) -> Instants:  # noqa: ARG002
        return at

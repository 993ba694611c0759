"""A rate that climbs or falls in a straight line, and then holds: where does it begin to hurt?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest.arrivals.base import Instants, arrival_process
from loadtest.rate_curve import RateCurve


@arrival_process
@dataclass(frozen=True, slots=True)
class Ramp:
    name: ClassVar[str] = "ramp"
    summary: ClassVar[str] = "Poisson at a rate that changes in a straight line, then holds."
    open_loop: ClassVar[bool] = True

    from_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="requests per second at first"
    )
    to_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="requests per second at the end"
    )
    ramp_s: float | None = parameter(
        default=None,
        minimum=0.1,
        maximum=86_400,
        unit="s",
        help="how long it changes; the whole run if not given",
    )

    def expected(self, duration: float) -> float:
        return self._curve(duration).expected(duration)

    def peak_rate(self, duration: float) -> float:
        return self._curve(duration).peak(duration)

    def instants(self, duration: float, rng: np.random.Generator) -> Instants:
        return self._curve(duration).instants(duration, rng)

    def cv(self) -> float:
        return 1.0

    def dispersion(self) -> float:
        return 1.0

    def evened(self, at: Instants, duration: float) -> Instants:
        return self._curve(duration).mass(at)

    def _curve(self, duration: float) -> RateCurve:
        return RateCurve((0.0, self.ramp_s or duration), (self.from_rate, self.to_rate))

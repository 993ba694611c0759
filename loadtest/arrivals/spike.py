"""A steady rate with one burst of a higher one: does it recover, and how fast?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest.arrivals.base import Instants, arrival_process
from loadtest.rate_curve import RateCurve


@arrival_process
@dataclass(frozen=True, slots=True)
class Spike:
    name: ClassVar[str] = "spike"
    summary: ClassVar[str] = "Poisson at one rate, with one stretch at another, sharp at both ends."
    open_loop: ClassVar[bool] = True

    base_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="requests per second outside the spike"
    )
    spike_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="requests per second within it"
    )
    spike_at_s: float | None = parameter(
        default=None,
        minimum=0.0,
        maximum=86_400,
        unit="s",
        help="when it starts; a third into the run if not given",
    )
    spike_s: float = parameter(
        default=10.0, minimum=0.01, maximum=86_400, unit="s", help="how long it lasts"
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
        start = duration / 3 if self.spike_at_s is None else self.spike_at_s
        end = start + self.spike_s
        base, spike = self.base_rate, self.spike_rate
        return RateCurve((0.0, start, start, end, end), (base, base, spike, spike, base))

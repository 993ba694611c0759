"""Equal steps from one rate to another, each held: a sweep in one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest.arrivals.base import Instants, arrival_process
from loadtest.rate_curve import RateCurve


@arrival_process
@dataclass(frozen=True, slots=True)
class Steps:
    name: ClassVar[str] = "steps"
    summary: ClassVar[str] = "Poisson at rates that rise or fall in equal steps, each held."
    open_loop: ClassVar[bool] = True

    from_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="requests per second at first"
    )
    to_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="requests per second at the end"
    )
    levels: int = parameter(
        default=5, minimum=2, maximum=100, help="rates held, the first and the last included"
    )
    hold_s: float | None = parameter(
        default=None,
        minimum=0.1,
        maximum=86_400,
        unit="s",
        help="how long each is held, the last one to the end; equal parts if not given",
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
        hold = self.hold_s or duration / self.levels
        rates = np.linspace(self.from_rate, self.to_rate, self.levels)
        edges = hold * np.arange(self.levels + 1)
        return RateCurve(np.repeat(edges, 2)[1:-1].tolist(), np.repeat(rates, 2).tolist())

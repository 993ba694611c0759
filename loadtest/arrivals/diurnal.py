"""A day's swing: the rate goes from its lowest to its highest and back, as a cosine, for ever.

The curve is drawn with straight lines between 1,440 points a cycle, one for each minute of a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest.arrivals.base import Instants, arrival_process
from loadtest.rate_curve import RateCurve

_POINTS = 1_440


@arrival_process
@dataclass(frozen=True, slots=True)
class Diurnal:
    name: ClassVar[str] = "diurnal"
    summary: ClassVar[str] = "Poisson at a rate that swings between night and day."
    open_loop: ClassVar[bool] = True

    night_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="lowest requests per second"
    )
    day_rate: float = parameter(
        minimum=0.0, maximum=20_000, unit="1/s", help="highest requests per second"
    )
    cycle_s: float | None = parameter(
        default=None,
        minimum=1.0,
        maximum=86_400,
        unit="s",
        help="from one night to the next; one cycle in the whole run if not given",
    )
    starts_at: float = parameter(
        default=0.0,
        minimum=0.0,
        maximum=1.0,
        help="where in the cycle the run starts: 0 the night, 0.5 the day",
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
        cycle = self.cycle_s or duration
        turn = np.linspace(0.0, 1.0, _POINTS + 1)
        swing = (1 - np.cos(2 * np.pi * (turn + self.starts_at))) / 2
        rates = self.night_rate + (self.day_rate - self.night_rate) * swing
        return RateCurve((turn * cycle).tolist(), rates.tolist(), period=cycle)

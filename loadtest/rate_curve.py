"""Arrivals whose rate changes with time: a Poisson process over a curve of the rate.

Independent users at a changing rate are a Poisson process in *operational time*, in which one
request is due a second on average. Unit-rate arrivals are drawn there and carried back through the
curve's integral, which is exact for any curve (no thinning, no rescaling to hit a total); and the
arrivals of a run, carried there, must look like plain Poisson, which is how a report checks them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]


class RateCurve:
    """Requests per second as straight lines between points; the last rate holds for ever.

    ``times`` start at 0 and rise; two points at one time are a jump. ``period`` repeats the curve
    up to that time without end.
    """

    def __init__(
        self, times: Sequence[float], rates: Sequence[float], *, period: float | None = None
    ) -> None:
        self._times = np.asarray(times, dtype=np.float64)
        self._rates = np.asarray(rates, dtype=np.float64)
        widths = np.diff(self._times)
        areas = widths * (self._rates[1:] + self._rates[:-1]) / 2
        self._masses = np.concatenate(([0.0], np.cumsum(areas)))
        self._period = period

    def expected(self, until: float) -> float:
        """How many requests are expected before ``until``."""
        return float(self.mass(np.array([until]))[0])

    def peak(self, until: float) -> float:
        """The highest rate before ``until``."""
        reached = self._times < until
        edge = np.interp(np.nextafter(until, 0.0), self._times, self._rates)
        return float(max(self._rates[reached].max(initial=0.0), edge))

    def mass(self, at: Times) -> Times:
        """Requests expected from 0 to each time: its operational time."""
        whole, rest = self._split(np.maximum(at, 0.0), self._period)
        place = np.searchsorted(self._times, rest, side="right") - 1
        inside = np.minimum(place, len(self._times) - 1)
        since = rest - self._times[inside]
        mass = self._masses[inside] + since * (
            self._rates[inside] + self._slope(inside) * since / 2
        )
        carried: Times = mass + whole * self._masses[-1]
        return carried

    def instants(self, duration: float, rng: np.random.Generator) -> Times:
        """Poisson arrivals before ``duration`` seconds, rising."""
        total = self.expected(duration)
        block = math.ceil(total + 6 * math.sqrt(total) + 16)
        masses = np.cumsum(rng.standard_exponential(block))
        while masses[-1] < total:
            masses = np.concatenate(
                (masses, masses[-1] + np.cumsum(rng.standard_exponential(block)))
            )
        instants = self._at(masses[masses < total])
        return instants[instants < duration]

    def _at(self, mass: Times) -> Times:
        """The time at which each mass is reached: the inverse of ``mass``."""
        whole, rest = self._split(mass, self._masses[-1] if self._period is not None else None)
        place = np.searchsorted(self._masses, rest, side="right") - 1
        left = rest - self._masses[place]
        rate, slope = self._rates[place], self._slope(place)
        # rate·s + slope·s²/2 = left, by the form that divides by nothing near 0.
        root = np.sqrt(np.maximum(rate * rate + 2 * slope * left, 0.0))
        bottom = rate + root
        since = np.divide(2 * left, bottom, out=np.zeros_like(left), where=bottom > 0)
        at: Times = self._times[place] + since + whole * (self._period or 0.0)
        return at

    def _split(self, values: Times, cycle: float | None) -> tuple[Times, Times]:
        """Whole cycles and what is left of the last."""
        if cycle is None:
            return np.zeros_like(values), values
        whole = np.floor(values / cycle)
        return whole, np.clip(values - whole * cycle, 0.0, cycle)

    def _slope(self, place: NDArray[np.intp]) -> Times:
        """How the rate changes behind each point; not at all behind the last, or within a jump."""
        widths = np.append(np.diff(self._times), 0.0)
        rises = np.append(np.diff(self._rates), 0.0)
        slopes = np.divide(rises, widths, out=np.zeros_like(rises), where=widths > 0)
        found: Times = slopes[place]
        return found

"""The shape of the load that was really made: gaps and bursts, against what the process gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measurement.chi_square import chi_square_quantile
from measurement.columns import SampleColumns

_MOST_BINS = 1000
_LEAST_BINS = 20
_BIN_COUNT = 10
"""About how many arrivals a bin should hold."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the arrival process should give; None where it promises nothing (closed loop)."""

    cv: float | None = None
    """Coefficient of variation of the gaps: 1 for Poisson, 0 for constant."""
    dispersion: float | None = None
    """Variance over mean of the counts in equal bins: 1 for Poisson, 0 for constant."""
    evened: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None
    """Carries instants to a time in which the rate is even, where it is not by itself."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Arrivals as the policy got them. None where too few arrived to say."""

    cv: float | None
    dispersion: float | None
    bins: int

    def warnings(self, expected: Expected | None) -> Iterable[str]:
        """A sentence when the bursts are not those of the process."""
        if expected is None or expected.dispersion is None or self.dispersion is None:
            return
        low, high = dispersion_range(expected.dispersion, self.bins)
        if not low <= self.dispersion <= high:
            yield (
                f"The index of dispersion of arrivals is {self.dispersion:.2f} over {self.bins} "
                f"bins, where the process gives {expected.dispersion:g} "
                f"({low:.2f} to {high:.2f} with 99.9 %): the load was not shaped as asked."
            )


def dispersion_range(expected: float, bins: int) -> tuple[float, float]:
    """Where the index lies with 99.9 %: a χ² of bins − 1 degrees, about the expected value.

    An expected 0 (constant arrivals) allows what cutting a regular series into bins can do.
    """
    if expected == 0:
        return 0.0, 0.25
    freedom = bins - 1
    low, high = (chi_square_quantile(p, freedom) / freedom for p in (0.0005, 0.9995))
    return expected * low, expected * high


def gaps_of(columns: SampleColumns, duration: float, expected: Expected | None = None) -> Gaps:
    """Gaps and counts of the times at which requests were handed to the policy, evened."""
    arrivals = np.sort(columns.known(lambda block: block.handed_at))
    if expected is not None and expected.evened is not None:
        arrivals = expected.evened(arrivals)
        duration = float(expected.evened(np.array([duration]))[0])
    bins = min(_MOST_BINS, len(arrivals) // _BIN_COUNT)
    return Gaps(_cv(np.diff(arrivals)), _dispersion(arrivals, duration, bins), bins)


def _cv(gaps: NDArray[np.float64]) -> float | None:
    mean = float(gaps.mean()) if len(gaps) > 1 else 0.0
    return float(gaps.std(ddof=1)) / mean if mean > 0 else None


def _dispersion(arrivals: NDArray[np.float64], duration: float, bins: int) -> float | None:
    if bins < _LEAST_BINS or duration <= 0:
        return None
    counts, _ = np.histogram(arrivals, bins=bins, range=(0.0, duration))
    return float(counts.var(ddof=1) / counts.mean()) if counts.any() else None

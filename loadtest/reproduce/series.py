"""One number measured once with each seed, and when one such series is below another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from measurement.beta import student_quantile


@dataclass(frozen=True, slots=True)
class Series:
    """One value a seed, in order of seeds. Infinity means that it never happened."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def margin(self) -> float | None:
        """Half of Student's 95 % interval of the mean; None with one seed, or with infinities."""
        n = len(self.values)
        if n < 2 or not all(map(math.isfinite, self.values)):
            return None
        deviation = float(np.std(self.values, ddof=1))
        return student_quantile(0.975, n - 1) * deviation / math.sqrt(n)

    def over(self, other: Series) -> Series:
        """The ratio, seed by seed."""
        pairs = zip(self.values, other.values, strict=True)
        return Series(tuple(own / its if its else math.inf for own, its in pairs))


def below(low: Series, high: Series | float, *, times: float = 1.0) -> bool:
    """Whether ``times`` × low < high: the 95 % interval of the paired differences is above 0.

    With one seed: whether it is so in that one.
    """
    others = high.values if isinstance(high, Series) else (high,) * len(low.values)
    pairs = list(zip(low.values, others, strict=True))
    if any(math.isinf(own) for own, _ in pairs):
        return False
    differences = tuple(other - times * own for own, other in pairs)
    if any(map(math.isinf, differences)):
        return min(differences) > 0.0
    paired = Series(differences)
    return paired.mean - (paired.margin or 0.0) > 0.0


def best(
    settings: Mapping[str, Mapping[str, Series]], measure_of: str, *, least: bool = False
) -> str:
    """The setting whose mean of a measure is the highest, or the least."""
    sign = -1.0 if least else 1.0
    return max(settings, key=lambda name: sign * settings[name][measure_of].mean)

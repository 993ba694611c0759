"""Sizes of requests with a mean of 1: log-normal, and with tails that a log-normal doesn't have.

A Pareto tail of index α: P(S > s) falls as s^−α, so that moments of order α and above are infinite.
Token lengths end at the engine's context limit, so a tail may be cut (a bounded Pareto).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Sizes(Protocol):
    """How large requests are."""

    @property
    def square(self) -> float:
        """E[S²] where E[S] = 1."""
        ...

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """So many of them, in means."""
        ...


@dataclass(frozen=True, slots=True)
class Lognormal:
    """``sigma``: the standard deviation of the logarithm."""

    sigma: float

    @property
    def square(self) -> float:
        return math.exp(self.sigma**2)

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        return np.exp(rng.normal(0.0, self.sigma, count) - self.sigma**2 / 2)


@dataclass(frozen=True, slots=True)
class Pareto:
    """``index`` over 1 and not 2; ``span``: the largest size over the smallest, infinite if no
    limit cuts the tail."""

    index: float
    span: float = math.inf

    @property
    def square(self) -> float:
        return self._moment(2) / self._moment(1) ** 2

    @property
    def most(self) -> float:
        """The largest size, in means."""
        return self.span / self._moment(1)

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        kept = 1.0 - self.span**-self.index
        drawn: Array = (1.0 - rng.random(count) * kept) ** (-1.0 / self.index)
        return drawn / self._moment(1)

    def _moment(self, order: int) -> float:
        """In smallest sizes; infinite where the tail makes it so."""
        a = self.index
        if math.isinf(self.span):
            return a / (a - order) if a > order else math.inf
        kept = 1.0 - self.span**-a
        return float(a / (a - order) * (1.0 - self.span ** (order - a)) / kept)

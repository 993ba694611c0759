"""The time between a request's arrival and the scheduler seeing it: reading, tokenising."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

_DRAWN_AT_ONCE = 256


@dataclass(slots=True)
class Ingest:
    """Log-normal delays, drawn in order of arrival: the n-th request of a seed has the n-th one."""

    median_s: float
    sigma: float
    seed: int
    _generator: np.random.Generator = field(init=False)
    _drawn: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)

    def draw(self) -> float:
        """The next request's delay in seconds."""
        if self.median_s == 0.0:
            return 0.0
        if not self._drawn:
            mean = math.log(self.median_s)
            drawn = self._generator.lognormal(mean, self.sigma, _DRAWN_AT_ONCE)
            self._drawn = drawn.tolist()[::-1]
        return self._drawn.pop()

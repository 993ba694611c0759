"""Bursts or evenness by one number: gaps from a gamma distribution.

``burstiness`` is that of vLLM's ``--burstiness``, the shape of the gamma: 1 is Poisson, below 1 the
arrivals come in bursts, above 1 they even out. The gaps' coefficient of variation is
1/√burstiness whatever the rate. Unlike there, nothing is rescaled to hit a total: that would tie
each gap to all the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest.arrivals.base import Instants, arrival_process


@arrival_process
@dataclass(frozen=True, slots=True)
class Gamma:
    name: ClassVar[str] = "gamma"
    summary: ClassVar[str] = "Bursty or evened-out gaps; burstiness as in vLLM, 1 is Poisson."
    open_loop: ClassVar[bool] = True

    rate: float = parameter(
        minimum=0.0,
        exclusive_minimum=True,
        maximum=20_000,
        unit="1/s",
        help="mean requests per second",
    )
    burstiness: float = parameter(
        default=0.5,
        minimum=0.01,
        maximum=1_000,
        help="shape of the gaps' gamma distribution: below 1 bursts, 1 Poisson, above 1 evener",
    )

    def expected(self, duration: float) -> float:
        return duration * self.rate

    def peak_rate(self, duration: float) -> float:  # noqa: ARG002
        return self.rate

    def instants(self, duration: float, rng: np.random.Generator) -> Instants:
        scale = 1 / (self.rate * self.burstiness)
        expected = duration * self.rate
        spread = math.sqrt(expected / self.burstiness)
        block = math.ceil(expected + 6 * spread + 16)
        instants = np.cumsum(rng.gamma(self.burstiness, scale, block))
        while instants[-1] < duration:
            more = instants[-1] + np.cumsum(rng.gamma(self.burstiness, scale, block))
            instants = np.concatenate((instants, more))
        return instants[instants < duration]

    def cv(self) -> float:
        return 1 / math.sqrt(self.burstiness)

    def dispersion(self) -> float | None:
        """Only Poisson's holds in bins of any size; the others approach CV² in long bins."""
        return 1.0 if self.burstiness == 1 else None

    def evened(self, at: Instants, duration: float) -> Instants:  # noqa: ARG002
        return at

"""How long requests take on an idle server: one seeded distribution with a given mean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from documents.fields import parameter

DISTRIBUTIONS = ("constant", "lognormal", "gamma", "bimodal", "tokens")
_BATCH = 4096


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work: seconds on the idle server, and tokens where the plant has them."""

    seconds: float
    prompt_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The spread of work around the plant's ``base_s``."""

    dist: str = parameter(
        default="lognormal",
        choices=DISTRIBUTIONS,
        help="constant; lognormal (sigma); gamma (shape); bimodal (share, ratio); tokens: "
        "lognormal prompts and outputs, where base_s is not used.",
    )
    sigma: float = parameter(
        default=0.1, minimum=0.0, maximum=3.0, help="Lognormal: spread of the logarithm."
    )
    shape: float = parameter(
        default=2.0, minimum=0.05, maximum=1000.0, help="Gamma: 1 is exponential, more is narrower."
    )
    share: float = parameter(
        default=0.2, minimum=0.0, maximum=1.0, help="Bimodal: share of the long ones."
    )
    ratio: float = parameter(
        default=5.0, minimum=1.0, maximum=1000.0, help="Bimodal: long over short."
    )

    def tasks(self, mean: float, rng: np.random.Generator) -> Iterator[Task]:
        """Tasks without end."""
        while True:
            if self.dist == "tokens":
                yield from _of_tokens(rng)
            else:
                yield from map(Task, (mean * self._unit(rng)).tolist())

    def _unit(self, rng: np.random.Generator) -> np.ndarray:
        """A batch with mean 1."""
        if self.dist == "lognormal":
            return np.exp(rng.normal(0.0, 1.0, _BATCH) * self.sigma - self.sigma**2 / 2)
        if self.dist == "gamma":
            return np.maximum(rng.gamma(self.shape, 1.0 / self.shape, _BATCH), 1e-6)
        if self.dist == "bimodal":
            short = 1.0 / (1.0 - self.share + self.share * self.ratio)
            return short * np.where(rng.random(_BATCH) < self.share, self.ratio, 1.0)
        return np.ones(_BATCH)


TOKEN_WORK_MEAN = 5.19
"""Mean seconds of a task of the ``tokens`` distribution (200,000 draws: 5.188)."""


def _of_tokens(rng: np.random.Generator) -> Iterator[Task]:
    """0.05 s, 0.2 ms a prompt token and 10 ms an output token; lengths spread as chats do."""
    prompts = np.clip(rng.lognormal(math.log(800.0), 1.2, _BATCH), 16.0, 16_000.0).tolist()
    outputs = np.clip(rng.lognormal(6.0, 0.6, _BATCH), 4.0, 4096.0).tolist()
    for prompt, output in zip(prompts, outputs, strict=True):
        yield Task(0.05 + 2e-4 * prompt + 0.01 * output, int(prompt), int(output))

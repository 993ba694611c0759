"""Made-up traffic with realistic spread: log-normal lengths, clamped, or fixed where σ is 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from loadtest import prompts
from loadtest.workloads.base import (
    MAX_OUTPUT_TOKENS,
    MAX_PROMPT_TOKENS,
    Lengths,
    Shape,
    check_shares,
    workload,
)

_SIGMA_HELP = "spread of the logarithm; 0 makes every length the mean"


@workload
@dataclass(frozen=True, slots=True)
class Synthetic:
    """``*_mean`` is the arithmetic mean before clamping; the preview shows what clamping leaves."""

    name: ClassVar[str] = "synthetic"
    summary: ClassVar[str] = "Log-normal lengths with mean, σ and clamp; tenants by share."

    prompt_tokens_mean: float = parameter(
        default=256, minimum=1, maximum=MAX_PROMPT_TOKENS, unit="tokens", help="mean prompt length"
    )
    prompt_tokens_sigma: float = parameter(default=0.0, minimum=0, maximum=4, help=_SIGMA_HELP)
    prompt_tokens_min: int = parameter(
        default=1, minimum=1, maximum=MAX_PROMPT_TOKENS, unit="tokens", help="shortest prompt"
    )
    prompt_tokens_max: int = parameter(
        default=32_768, minimum=1, maximum=MAX_PROMPT_TOKENS, unit="tokens", help="longest prompt"
    )
    output_tokens_mean: float = parameter(
        default=128, minimum=1, maximum=MAX_OUTPUT_TOKENS, unit="tokens", help="mean answer length"
    )
    output_tokens_sigma: float = parameter(default=0.0, minimum=0, maximum=4, help=_SIGMA_HELP)
    output_tokens_min: int = parameter(
        default=1, minimum=1, maximum=MAX_OUTPUT_TOKENS, unit="tokens", help="shortest answer"
    )
    output_tokens_max: int = parameter(
        default=4_096, minimum=1, maximum=MAX_OUTPUT_TOKENS, unit="tokens", help="longest answer"
    )
    tenants: Mapping[str, float] = parameter(
        default_factory=dict, help="shares of the requests, by tenant"
    )

    def __post_init__(self) -> None:
        check_shares(self.tenants)
        problems = []
        for what in ("prompt", "output"):
            low, high = getattr(self, f"{what}_tokens_min"), getattr(self, f"{what}_tokens_max")
            mean = getattr(self, f"{what}_tokens_mean")
            if low > high:
                name = f"{what}_tokens_min"
                problems.append(Problem(name, low, f"must be at most {what}_tokens_max ({high})"))
            elif not low <= mean <= high:
                name = f"{what}_tokens_mean"
                problems.append(Problem(name, mean, f"must lie within the clamp, {low} to {high}"))
        if problems:
            raise DocumentError(problems)

    def prompt_lengths(self, count: int, rng: np.random.Generator) -> Lengths:
        drawn = _lognormal(self.prompt_tokens_mean, self.prompt_tokens_sigma, count, rng)
        return np.clip(drawn, self.prompt_tokens_min, self.prompt_tokens_max)

    def output_lengths(self, count: int, rng: np.random.Generator) -> Lengths:
        drawn = _lognormal(self.output_tokens_mean, self.output_tokens_sigma, count, rng)
        return np.clip(drawn, self.output_tokens_min, self.output_tokens_max)

    def prompt(self, shape: Shape, rng: np.random.Generator) -> str:
        return prompts.fresh(shape.prompt_tokens, rng)


def _lognormal(mean: float, sigma: float, count: int, rng: np.random.Generator) -> Lengths:
    if sigma == 0:
        return np.full(count, round(mean), dtype=np.int64)
    drawn = rng.lognormal(math.log(mean) - sigma * sigma / 2, sigma, count)
    # Far tails of a wide σ exceed what an integer holds; the clamp decides anyway.
    return np.rint(np.minimum(drawn, float(MAX_PROMPT_TOKENS))).astype(np.int64)

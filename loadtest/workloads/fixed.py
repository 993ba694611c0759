"""Every request the same size: the shape for comparing two engines or two policies plainly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest import prompts
from loadtest.workloads.base import (
    MAX_OUTPUT_TOKENS,
    MAX_PROMPT_TOKENS,
    Lengths,
    Shape,
    check_shares,
    workload,
)


@workload
@dataclass(frozen=True, slots=True)
class Fixed:
    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "Prompts and answers of one length each."

    prompt_tokens: int = parameter(
        default=64, minimum=1, maximum=MAX_PROMPT_TOKENS, unit="tokens", help="length of a prompt"
    )
    output_tokens: int = parameter(
        default=64, minimum=1, maximum=MAX_OUTPUT_TOKENS, unit="tokens", help="length of an answer"
    )
    tenants: Mapping[str, float] = parameter(
        default_factory=dict, help="shares of the requests, by tenant"
    )

    def __post_init__(self) -> None:
        check_shares(self.tenants)

    def prompt_lengths(self, count: int, rng: np.random.Generator) -> Lengths:  # noqa: ARG002
        return np.full(count, self.prompt_tokens, dtype=np.int64)

    def output_lengths(self, count: int, rng: np.random.Generator) -> Lengths:  # noqa: ARG002
        return np.full(count, self.output_tokens, dtype=np.int64)

    def prompt(self, shape: Shape, rng: np.random.Generator) -> str:
        return prompts.fresh(shape.prompt_tokens, rng)

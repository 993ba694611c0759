"""Agents: sessions whose context grows with each turn, with a tool's work between two of them.

The shape of the agents source (``simulator.plants.agents``): a turn asks for all that its session
has heard and said so far, so nearly all of it can be found in a prefix cache, if that still has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
    Turn,
    check_shares,
    workload,
)


@workload
@dataclass(frozen=True, slots=True)
class Agents:
    name: ClassVar[str] = "agents"
    summary: ClassVar[str] = "Agents in a closed loop: each turn asks for the whole context so far."

    first_tokens: int = parameter(
        default=2_000, minimum=1, maximum=MAX_PROMPT_TOKENS, unit="tokens", help="the first context"
    )
    shared_tokens: int = parameter(
        default=0,
        minimum=0,
        maximum=MAX_PROMPT_TOKENS,
        unit="tokens",
        help="of the first context, what all agents share, such as a system prompt",
    )
    turns_mean: float = parameter(default=20.0, minimum=1, maximum=1_000, help="turns of an agent")
    turns_sigma: float = parameter(default=5.0, minimum=0, maximum=1_000, help="their spread")
    output_tokens_mean: float = parameter(
        default=217.0, minimum=1, maximum=MAX_OUTPUT_TOKENS, unit="tokens", help="mean answer"
    )
    output_tokens_sigma: float = parameter(
        default=0.4, minimum=0, maximum=4, help="spread of the logarithm"
    )
    tool_tokens_mean: float = parameter(
        default=718.0,
        minimum=0,
        maximum=MAX_PROMPT_TOKENS,
        unit="tokens",
        help="what a tool's result adds to the context, at the mean",
    )
    tool_tokens_sigma: float = parameter(
        default=0.6, minimum=0, maximum=4, help="spread of the logarithm"
    )
    tool_s: float = parameter(
        default=4.0, minimum=0, maximum=3_600, unit="s", help="mean time of a tool (exponential)"
    )
    tenants: Mapping[str, float] = parameter(
        default_factory=dict, help="shares of the agents, by tenant"
    )

    def __post_init__(self) -> None:
        check_shares(self.tenants)
        if self.shared_tokens > self.first_tokens:
            message = f"must be at most first_tokens ({self.first_tokens})"
            raise DocumentError([Problem("shared_tokens", self.shared_tokens, message)])

    def session(self, rng: np.random.Generator) -> Sequence[Turn]:
        """The turns of one agent. A context longer than the model's ends the agent there."""
        count = max(1, round(rng.normal(self.turns_mean, self.turns_sigma)))
        outputs = _lognormal(self.output_tokens_mean, self.output_tokens_sigma, count, rng)
        outputs = np.clip(outputs, 1, MAX_OUTPUT_TOKENS)
        tools = _lognormal(self.tool_tokens_mean, self.tool_tokens_sigma, count, rng)
        grown = self.first_tokens + np.concatenate(([0], np.cumsum(outputs + tools)[:-1]))
        contexts = np.minimum(grown, MAX_PROMPT_TOKENS)
        waits = rng.exponential(self.tool_s, count)
        waits[0] = 0.0
        rows = zip(contexts.tolist(), outputs.tolist(), waits.tolist(), strict=True)
        return [Turn(prompt, output, wait) for prompt, output, wait in rows]

    def prompt_lengths(self, count: int, rng: np.random.Generator) -> Lengths:
        """Those of whole agents, one after the other."""
        return self._drawn(count, rng, lambda turn: turn.prompt_tokens)

    def output_lengths(self, count: int, rng: np.random.Generator) -> Lengths:
        return self._drawn(count, rng, lambda turn: turn.output_tokens)

    def prompt(self, shape: Shape, rng: np.random.Generator) -> str:
        return prompts.fresh(shape.prompt_tokens, rng)

    def _drawn(self, count: int, rng: np.random.Generator, of: Callable[[Turn], int]) -> Lengths:
        found: list[int] = []
        while len(found) < count:
            found += [of(turn) for turn in self.session(rng)]
        return np.array(found[:count], dtype=np.int64)


def _lognormal(mean: float, sigma: float, count: int, rng: np.random.Generator) -> Lengths:
    """Whole numbers with that mean; far tails of a wide σ end at the longest prompt."""
    if mean == 0 or sigma == 0:
        return np.full(count, round(mean), dtype=np.int64)
    drawn = rng.lognormal(math.log(mean) - sigma * sigma / 2, sigma, count)
    return np.rint(np.minimum(drawn, float(MAX_PROMPT_TOKENS))).astype(np.int64)

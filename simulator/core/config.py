"""All that makes one engine behave as it does."""

from __future__ import annotations

from dataclasses import dataclass

from documents.problem import DocumentError, Problem
from simulator.core.cost import StepCost


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Cost, memory and limits; the names are those of vLLM's arguments where it has one."""

    cost: StepCost
    blocks: int
    block_size: int = 16
    token_budget: int = 8192
    """Tokens that one step may schedule (``max_num_batched_tokens``)."""
    max_seqs: int = 1024
    max_model_len: int = 32768
    watermark: float = 0.0
    """Share of blocks kept back at admission while others run."""
    max_queued_requests: int | None = None
    """Requests in the engine, waiting or running, beyond which it refuses."""
    max_queued_tokens: int | None = None
    """Prompt tokens still in prefill, at which it refuses."""
    ingest_s: float = 0.010
    ingest_sigma: float = 0.3

    def __post_init__(self) -> None:
        problems = []
        room = (self.blocks - 1) * self.block_size
        if self.max_model_len > room:
            problems.append(
                Problem(
                    "max_model_len",
                    self.max_model_len,
                    f"one request must fit the KV cache, which holds {room} tokens",
                )
            )
        if self.token_budget < self.max_seqs:
            problems.append(
                Problem(
                    "token_budget",
                    self.token_budget,
                    f"must be at least max_seqs ({self.max_seqs}), or a decode could starve",
                )
            )
        if problems:
            raise DocumentError(problems)

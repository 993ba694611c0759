"""All that makes one engine behave as it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from documents.problem import DocumentError, Problem
from simulator.core.cost import StepCost

Style = Literal["continuous", "prefill_first", "reserve_max", "slots"]
STYLES: tuple[Style, ...] = ("continuous", "prefill_first", "reserve_max", "slots")


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
    style: Style = "continuous"
    """Whose loop it is: vLLM's, SGLang's, TensorRT-LLM's, llama.cpp's (docs/engine-model.md)."""
    prefix_cache: bool = True
    chunked_prefill: bool = True
    long_prefill_threshold: int = 0
    """Most prompt tokens of one request in one step, while it is not alone; 0: no such limit."""
    swap: bool = False
    """Preempt by moving the victim's keys and values to the host, not by recomputing them."""
    swap_ms_per_token: float = 0.0
    """What moving one token's keys and values costs, each way."""

    def __post_init__(self) -> None:
        checks = (
            self._memory, self._budget, self._time, self._whole_prompts, self._slots, self._swap,
        )  # fmt: skip
        problems = [problem for check in checks for problem in check()]
        if problems:
            raise DocumentError(problems)

    @property
    def refuses(self) -> bool:
        """Whether it turns requests away for what is in it."""
        return self.max_queued_requests is not None or self.max_queued_tokens is not None

    @property
    def slot_blocks(self) -> int:
        """Blocks of one slot, where memory is cut into slots."""
        return (self.blocks - 1) // self.max_seqs

    def _memory(self) -> list[Problem]:
        room = (self.blocks - 1) * self.block_size
        if self.max_model_len <= room:
            return []
        message = f"one request must fit the KV cache, which holds {room} tokens"
        return [Problem("max_model_len", self.max_model_len, message)]

    def _budget(self) -> list[Problem]:
        if self.token_budget >= self.max_seqs:
            return []
        message = f"must be at least max_seqs ({self.max_seqs}), or a decode could starve"
        return [Problem("token_budget", self.token_budget, message)]

    def _time(self) -> list[Problem]:
        if self.cost.t0_ms + self.cost.t_w_ms > 0:
            return []
        return [Problem("cost", self.cost.t0_ms, "a step must take time: t0_ms or t_w_ms above 0")]

    def _whole_prompts(self) -> list[Problem]:
        if self.chunked_prefill or self.token_budget >= self.max_model_len:
            return []
        message = f"must be at least max_model_len ({self.max_model_len}) without chunked_prefill"
        return [Problem("token_budget", self.token_budget, message)]

    def _slots(self) -> list[Problem]:
        room = self.slot_blocks * self.block_size
        if self.style != "slots" or self.max_model_len <= room:
            return []
        message = f"one request must fit a slot, which holds {room} tokens"
        return [Problem("max_model_len", self.max_model_len, message)]

    def _swap(self) -> list[Problem]:
        if not self.swap or self.style == "continuous":
            return []
        return [Problem("swap", self.swap, "is an option of the continuous style alone")]

"""vLLM (V1): the names of its current release first, those of older ones after them.

With data parallelism each engine has lines of its own: counts add up, and KV use is that of the
fullest engine, which is the one that will preempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engines.dialect import Dialect
from engines.signals.base import EngineSignals, Metric, engine_adapter, read_signals

TABLE = {
    "running": Metric(("vllm:num_requests_running",)),
    "waiting": Metric(("vllm:num_requests_waiting", "vllm:num_requests_waiting_by_reason")),
    "kv_use": Metric(("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"), fold="max"),
    "kv_tokens": Metric(("vllm:cache_config_info",), labels=("block_size", "num_gpu_blocks")),
    "preemptions": Metric(("vllm:num_preemptions_total", "vllm:num_preemptions")),
    "prefix_hits": Metric(
        (
            "vllm:prefix_cache_hits_total",
            "vllm:prefix_cache_hits",
            "vllm:gpu_prefix_cache_hits_total",
            "vllm:gpu_prefix_cache_hits",
        )
    ),
    "prefix_queries": Metric(
        (
            "vllm:prefix_cache_queries_total",
            "vllm:prefix_cache_queries",
            "vllm:gpu_prefix_cache_queries_total",
            "vllm:gpu_prefix_cache_queries",
        )
    ),
    "prompt_tokens": Metric(("vllm:prompt_tokens_total", "vllm:prompt_tokens")),
    "output_tokens": Metric(("vllm:generation_tokens_total", "vllm:generation_tokens")),
}


@engine_adapter
@dataclass(frozen=True, slots=True)
class Vllm:
    name: ClassVar[str] = "vllm"
    summary: ClassVar[str] = "vLLM's OpenAI server: queue, KV cache, preemptions, prefix cache"
    dialect: ClassVar[Dialect] = Dialect(continuous_usage=True, ignore_eos=True, min_tokens=True)
    metrics_path: ClassVar[str | None] = "/metrics"
    capabilities: ClassVar[frozenset[str]] = frozenset(TABLE)
    owners: ClassVar[tuple[str, ...]] = ("vllm",)
    metric_prefix: ClassVar[str | None] = "vllm:"

    def parse(self, text: str, at: float) -> EngineSignals:
        return read_signals(text, at, TABLE)

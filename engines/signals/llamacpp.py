"""llama.cpp's server, started with ``--metrics``.

It has no preemption, and current builds say nothing of KV use. Prompt tokens are counted without
those found in the cache, so the tokens looked up are both together.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from engines.dialect import Dialect
from engines.signals.base import EngineSignals, Metric, engine_adapter, read_signals

TABLE = {
    "running": Metric(("llamacpp:requests_processing",)),
    "waiting": Metric(("llamacpp:requests_deferred",)),
    "kv_use": Metric(("llamacpp:kv_cache_usage_ratio",)),
    "prefix_hits": Metric(("llamacpp:prompt_tokens_cached_total",)),
    "prompt_tokens": Metric(("llamacpp:prompt_tokens_total",)),
    "output_tokens": Metric(("llamacpp:tokens_predicted_total",)),
}


@engine_adapter
@dataclass(frozen=True, slots=True)
class LlamaCpp:
    name: ClassVar[str] = "llamacpp"
    summary: ClassVar[str] = "llama.cpp's server: slots in use, deferred requests, prompt cache"
    dialect: ClassVar[Dialect] = Dialect(ignore_eos=True)
    metrics_path: ClassVar[str | None] = "/metrics"
    capabilities: ClassVar[frozenset[str]] = frozenset(
        {"running", "waiting", "prefix_hits", "prefix_queries", "prompt_tokens", "output_tokens"}
    )
    owners: ClassVar[tuple[str, ...]] = ("llamacpp",)
    metric_prefix: ClassVar[str | None] = "llamacpp:"

    def parse(self, text: str, at: float) -> EngineSignals:
        seen = read_signals(text, at, TABLE)
        hits, misses = seen.prefix_hits, seen.prompt_tokens
        if hits is None or misses is None:
            return seen
        whole = hits + misses
        return dataclasses.replace(seen, prefix_queries=whole, prompt_tokens=whole)

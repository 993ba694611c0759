"""Our own engine model behind HTTP: vLLM's names and fields, so it is read as vLLM is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engines.dialect import Dialect
from engines.signals.base import SIGNALS, EngineSignals, adapter, engine_adapter


@engine_adapter
@dataclass(frozen=True, slots=True)
class Simulated:
    name: ClassVar[str] = "simulated"
    summary: ClassVar[str] = "The engine model that comes with Headway; speaks as vLLM does"
    dialect: ClassVar[Dialect] = Dialect(continuous_usage=True, ignore_eos=True, min_tokens=True)
    metrics_path: ClassVar[str | None] = "/metrics"
    capabilities: ClassVar[frozenset[str]] = frozenset(SIGNALS)
    owners: ClassVar[tuple[str, ...]] = ("headway",)
    metric_prefix: ClassVar[str | None] = None

    def parse(self, text: str, at: float) -> EngineSignals:
        return adapter("vllm").parse(text, at)

"""Any server of the OpenAI shape: no signals of its own, and no field beyond the common ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engines.dialect import Dialect
from engines.signals.base import EngineSignals, engine_adapter


@engine_adapter
@dataclass(frozen=True, slots=True)
class OpenAi:
    name: ClassVar[str] = "openai"
    summary: ClassVar[str] = "Any OpenAI-compatible server; it says nothing of its load"
    dialect: ClassVar[Dialect] = Dialect()
    metrics_path: ClassVar[str | None] = None
    capabilities: ClassVar[frozenset[str]] = frozenset()
    owners: ClassVar[tuple[str, ...]] = ()
    metric_prefix: ClassVar[str | None] = None

    def parse(self, text: str, at: float) -> EngineSignals:  # noqa: ARG002 - it never has any
        return EngineSignals(at=at)

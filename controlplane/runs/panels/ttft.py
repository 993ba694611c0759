"""Time to first token, from the intended start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.runs.panels import latency_base as latency
from controlplane.runs.panels.base import Column, Figure, Shown, Source, panel
from measurement.slo import Slo


@panel
class TimeToFirstToken:
    name: ClassVar[str] = "ttft"
    order: ClassVar[int] = 20
    source: ClassVar[Source] = "cohorts"
    columns: ClassVar[Mapping[str, Column]] = latency.columns("ttft", latency.MILLISECONDS)

    def figure(self, slo: Slo | None) -> Figure:
        return latency.figure(
            "ttft", title="TTFT", sub="from intended start, ms", digits=0, slo=slo
        )

    def sentence(self, shown: Shown) -> str:
        allowed = latency.limit(shown.slo, "ttft_ms")
        return latency.sentence("ttft", shown, allowed=allowed, unit="ms", digits=0)

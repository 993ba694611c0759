"""Time per output token after the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.runs.panels import latency_base as latency
from controlplane.runs.panels.base import Column, Figure, Shown, Source, panel
from measurement.slo import Slo


@panel
class TimePerOutputToken:
    name: ClassVar[str] = "tpot"
    order: ClassVar[int] = 30
    source: ClassVar[Source] = "cohorts"
    columns: ClassVar[Mapping[str, Column]] = latency.columns("tpot", latency.MILLISECONDS)

    def figure(self, slo: Slo | None) -> Figure:
        return latency.figure("tpot", title="TPOT", sub="ms per output token", digits=1, slo=slo)

    def sentence(self, shown: Shown) -> str:
        allowed = latency.limit(shown.slo, "tpot_ms")
        return latency.sentence("tpot", shown, allowed=allowed, unit="ms", digits=1)

"""The whole answer, from the intended start to the end of the stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.runs.panels import latency_base as latency
from controlplane.runs.panels.base import Column, Figure, Mark, Shown, Source, panel
from measurement.slo import Slo


def _allowed(slo: Slo | None) -> float | None:
    allowed_ms = latency.limit(slo, "e2e_ms")
    return None if allowed_ms is None else allowed_ms / latency.MILLISECONDS


@panel
class EndToEnd:
    name: ClassVar[str] = "e2e"
    order: ClassVar[int] = 40
    source: ClassVar[Source] = "cohorts"
    columns: ClassVar[Mapping[str, Column]] = latency.columns("e2e", latency.SECONDS)

    def figure(self, slo: Slo | None) -> Figure:
        allowed = _allowed(slo)
        return Figure(
            "E2E",
            "from intended start, s",
            "s",
            latency.series("e2e", 2),
            marks=[] if allowed is None else [Mark(allowed, f"SLO ≤ {allowed:g} s")],
            scale_toggle=True,
        )

    def sentence(self, shown: Shown) -> str:
        return latency.sentence("e2e", shown, allowed=_allowed(shown.slo), unit="s", digits=2)

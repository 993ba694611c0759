"""How full the engine's key-value cache is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.runs import phrases
from controlplane.runs.panels.base import Column, Figure, Number, Series, Shown, Source, panel
from measurement.slo import Slo
from measurement.window import Window


def _percent(window: Window) -> Number:
    used = window.events.kv_use
    return None if used is None else round(100 * used, 3)


@panel
class KvUse:
    name: ClassVar[str] = "kv_use"
    order: ClassVar[int] = 70
    source: ClassVar[Source] = "events"
    columns: ClassVar[Mapping[str, Column]] = {"kv_percent": _percent}

    def figure(self, slo: Slo | None) -> Figure:  # noqa: ARG002
        return Figure(
            "KV use",
            "% of blocks",
            "%",
            [Series("kv_percent", "KV use", d=1)],
            y={"min": 0, "max": 100},
        )

    def sentence(self, shown: Shown) -> str:
        known = [row for row in shown.rows if row["kv_percent"] is not None]
        if not known:
            return "This engine does not say how full its KV cache is."
        fullest = max(known, key=lambda row: row["kv_percent"] or 0.0)
        used = phrases.number(fullest["kv_percent"], 1)
        return f"At most {used} %, at {phrases.clock(fullest.at)}."

"""What the concurrency law held, beside what was in flight: the controller trace."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar

from controlplane.runs import phrases
from controlplane.runs.panels.base import (
    Beside,
    Column,
    Figure,
    Number,
    Series,
    Shown,
    Source,
    panel,
)
from measurement.slo import Slo
from measurement.window import Window
from schedulers.runtime.shadow import WITHIN


def _limit(window: Window) -> Number:
    return window.events.limit


def _shadow_limit(window: Window) -> Number:
    return window.events.shadow_limit


@panel
class Limit:
    name: ClassVar[str] = "limit"
    order: ClassVar[int] = 90
    source: ClassVar[Source] = "events"
    columns: ClassVar[Mapping[str, Column]] = {
        "limit": _limit,
        "shadow_limit": _shadow_limit,
    }

    def figure(self, slo: Slo | None) -> Figure:  # noqa: ARG002
        return Figure(
            "Limit",
            "requests in flight allowed",
            "",
            [
                Series("in_flight", "In flight", color="s0", fill=0.14, d=1),
                Series("limit", "Limit", color="s1", step=True),
            ],
            shadow=Beside(
                Series("shadow_limit", "Shadow's limit", color="s4", dash="shadow", step=True),
                active="limit",
                within=WITHIN,
            ),
        )

    def sentence(self, shown: Shown) -> str:
        limits = shown.numbers("limit")
        if not limits:
            return "This policy sets no limit."
        moved = sum(before != after for before, after in pairwise(limits))
        if not moved:
            return f"The limit stayed at {phrases.number(limits[-1])}."
        low, high = phrases.number(min(limits)), phrases.number(max(limits))
        now = phrases.number(limits[-1])
        return f"Between {low} and {high}, now {now}; changed in {moved} of {len(limits)} rows."

"""The share of offered requests that met every objective, by the second they were due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.runs import phrases
from controlplane.runs.panels.base import Column, Figure, Mark, Number, Series, Shown, Source, panel
from measurement.slo import Slo
from measurement.window import Window


def _percent(window: Window) -> Number:
    share = window.cohort.attainment
    return None if share is None else round(100 * share, 4)


@panel
class Attainment:
    name: ClassVar[str] = "attainment"
    order: ClassVar[int] = 80
    source: ClassVar[Source] = "cohorts"
    columns: ClassVar[Mapping[str, Column]] = {"attainment_percent": _percent}

    def figure(self, slo: Slo | None) -> Figure:
        target = None if slo is None else 100 * slo.target
        return Figure(
            "Attainment",
            "% of offered",
            "%",
            [Series("attainment_percent", "Attainment", d=2)],
            marks=[] if target is None else [Mark(target, f"SLO ≥ {target:g} %")],
            y={"max": 100},
        )

    def sentence(self, shown: Shown) -> str:
        judged = [row for row in shown.closed if row["attainment_percent"] is not None]
        if not judged:
            return "No cohort has closed yet."
        lowest = min(judged, key=lambda row: row["attainment_percent"] or 0.0)
        if shown.slo is None:
            low = phrases.number(lowest["attainment_percent"], 2)
            return f"No objectives: an answer counts as good. Lowest {low} %."
        target = 100 * shown.slo.target
        below = [row for row in judged if (row["attainment_percent"] or 0.0) < target]
        cohorts = phrases.count(len(judged), "cohort")
        if not below:
            return f"At or above {target:g} % in each of {cohorts}."
        first = phrases.clock(below[0].at)
        return f"Below {target:g} % in {len(below)} of {cohorts}, first at {first}."

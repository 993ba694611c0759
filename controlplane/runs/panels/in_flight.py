"""Requests in flight against the policy's limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.runs import phrases
from controlplane.runs.panels.base import Column, Figure, Number, Series, Shown, Source, panel
from measurement.slo import Slo
from measurement.window import Window


def _mean(window: Window) -> Number:
    mean = window.events.in_flight_mean
    return None if mean is None else round(mean, 3)


def _highest(window: Window) -> Number:
    return window.events.in_flight_max


def _limit(window: Window) -> Number:
    return window.events.limit


@panel
class InFlight:
    name: ClassVar[str] = "in_flight"
    order: ClassVar[int] = 50
    source: ClassVar[Source] = "events"
    columns: ClassVar[Mapping[str, Column]] = {
        "in_flight": _mean,
        "in_flight_max": _highest,
        "limit": _limit,
    }

    def figure(self, slo: Slo | None) -> Figure:  # noqa: ARG002
        return Figure(
            "In flight and limit",
            "requests",
            "",
            [
                Series("in_flight", "In flight", color="s0", fill=0.14, d=1),
                Series("limit", "Limit", color="s1", step=True),
            ],
        )

    def sentence(self, shown: Shown) -> str:
        highest = max(shown.numbers("in_flight_max"), default=None)
        if highest is None:
            return "Nothing has been in flight yet."
        limited = [row for row in shown.rows if row["limit"] is not None]
        said = f"At most {phrases.number(highest)} in flight"
        if not limited:
            return f"{said}; this policy sets no limit."
        full = [row for row in limited if (row["in_flight_max"] or 0) >= (row["limit"] or 0)]
        if not full:
            return f"{said}: the limit was never reached."
        part = f"{len(full)} of {phrases.count(len(limited), 'row')} of {shown.step} s"
        return f"{said}; the limit was reached in {part}, first at {phrases.clock(full[0].at)}."

"""What was asked, what was sent, and what came back good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.runs import phrases
from controlplane.runs.panels.base import Column, Figure, Number, Series, Shown, Source, panel
from measurement.slo import Slo
from measurement.window import Window


def _offered(window: Window) -> Number:
    return round(window.cohort.offered / window.width, 4)


def _sent(window: Window) -> Number:
    return round(window.events.sent / window.width, 4)


def _good(window: Window) -> Number:
    """Null while a request is open: an answer still to come would be drawn as an outage."""
    if window.cohort.pending:
        return None
    return round(window.cohort.met / window.width, 4)


@panel
class Load:
    name: ClassVar[str] = "load"
    order: ClassVar[int] = 10
    source: ClassVar[Source] = "cohorts"
    columns: ClassVar[Mapping[str, Column]] = {
        "offered_rps": _offered,
        "sent_rps": _sent,
        "goodput_rps": _good,
    }

    def figure(self, slo: Slo | None) -> Figure:
        good = "Goodput" if slo else "Answered"
        return Figure(
            "Load",
            "requests per second",
            "/s",
            [
                Series("offered_rps", "Offered", color="s0", d=1),
                Series("sent_rps", "Sent", color="s3", dash="p95", d=1),
                Series("goodput_rps", good, color="s1", d=1),
            ],
        )

    def sentence(self, shown: Shown) -> str:
        closed = [row for row in shown.closed if row["offered_rps"]]
        offered = sum(row["offered_rps"] or 0.0 for row in closed)
        if not offered:
            return "No cohort has closed yet."
        good = sum(row["goodput_rps"] or 0.0 for row in closed) / offered
        what = "Goodput is" if shown.slo else "Answered are"
        said = f"{what} {phrases.share(good, 1)} % of offered."
        worst = min(
            closed, key=lambda row: (row["goodput_rps"] or 0.0) - (row["offered_rps"] or 0.0)
        )
        gap = (worst["offered_rps"] or 0.0) - (worst["goodput_rps"] or 0.0)
        if good < 0.999 and gap > 0:
            said += f" The gap is widest at {phrases.clock(worst.at)}: {phrases.number(gap, 1)} /s."
        return said

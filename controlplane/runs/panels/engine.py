"""Requests inside the engine, as its own metrics say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import ClassVar

from controlplane.runs import phrases
from controlplane.runs.panels.base import Column, Figure, Number, Row, Series, Shown, Source, panel
from engines.signals_feed import STALE_AFTER
from measurement.slo import Slo
from measurement.window import Window


def _running(window: Window) -> Number:
    return window.events.running


def _waiting(window: Window) -> Number:
    return window.events.waiting


def _missing(rows: Sequence[Row]) -> int:
    """Rows without a reading, where they are so many in a row that the feed itself calls it old.

    A poll that falls just beside its row leaves one empty, and nothing was missed.
    """
    gaps = [len([*gap]) for known, gap in groupby(rows, _is_known) if not known]
    return sum(gap for gap in gaps if gap >= STALE_AFTER)


def _is_known(row: Row) -> bool:
    return row["waiting"] is not None


@panel
class EngineQueue:
    name: ClassVar[str] = "engine"
    order: ClassVar[int] = 60
    source: ClassVar[Source] = "events"
    columns: ClassVar[Mapping[str, Column]] = {"running": _running, "waiting": _waiting}

    def figure(self, slo: Slo | None) -> Figure:  # noqa: ARG002
        return Figure(
            "Running and waiting",
            "requests in the engine",
            "",
            [
                Series("running", "Running", color="s1", d=0),
                Series("waiting", "Waiting", color="s2", dash="p95", d=0),
            ],
        )

    def sentence(self, shown: Shown) -> str:
        known = [row for row in shown.rows if _is_known(row)]
        if not known:
            return "This engine's metrics can't be read: nothing is known of its queue."
        missing = _missing(shown.rows) * shown.step
        gap = f" Its metrics were missing for {phrases.number(missing)} s." if missing else ""
        queued = [row for row in known if (row["waiting"] or 0) >= 1]
        if not queued:
            return f"No queue inside the engine.{gap}"
        most = phrases.number(max(row["waiting"] or 0 for row in queued))
        return (
            f"Up to {most} waiting inside the engine, first at {phrases.clock(queued[0].at)}.{gap}"
        )

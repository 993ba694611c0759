"""The one message a run's page lives on: whatever changed after a seq, ready to draw.

The supervisor sends one each second; a page that has missed some asks for one over HTTP. Both are
made here from the same rows, so they can't disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from controlplane.runs import crew, mixing, shadows, tables, tiles
from controlplane.runs.board import MOST_ROWS, Board, Table, columns_of
from controlplane.runs.models import Run, Status
from controlplane.runs.panels.base import Row, Shown, Source, every
from controlplane.runs.verdicts import notes, verdict
from measurement.slo import Slo
from schedulers.inputs import INPUTS

Frame = dict[str, Any]

ENDED = {Status.FAILED: "failed", Status.CANCELLED: "was cancelled", Status.LOST: "was lost"}


@dataclass(frozen=True, slots=True)
class Decided:
    """Lines of the controller trace that a frame carries: the policy's, and its shadow's."""

    active: Sequence[Mapping[str, Any]] = ()
    shadow: Sequence[Mapping[str, Any]] = ()


def build(run: Run, board: Board, decided: Decided, *, since: int) -> Frame:
    """Everything that changed after ``since``; ``full`` when that is everything there is."""
    slo = slo_of(run)
    shown = {table.source: _counted(run, table) for table in board.tables}
    return {
        "type": "frame",
        "full": since <= 0,
        "seq": run.seq,
        "run": state(run),
        "mixed": mixing.now(run),
        "verdict": verdict(run, notes(run)),
        "tiles": tiles.tiles(run, shown["cohorts"], slo),
        "events": _table(board.events, since),
        "cohorts": _table(board.cohorts, since),
        "decisions": list(decided.active)[-MOST_ROWS:],
        "shadow": shadows.told(run, list(decided.shadow)[-MOST_ROWS:]),
        "summaries": sentences(run, slo, board, shown),
        "failures": tables.failures(run),
        "tenants": tables.tenants(run, slo.target_for if slo else None),
        "crew": crew.rows(run),
    }


def state(run: Run) -> dict[str, Any]:
    """Where the run stands in time."""
    left = _left(run) if run.is_live else 0.0
    updated_at = run.ended_at or run.heartbeat_at or run.created_at or timezone.now()
    return {
        "status": run.status,
        "host": run.host,
        "elapsed_s": round(run.elapsed_s, 3),
        "duration_s": run.duration_s,
        "warm_up_s": run.warm_up_s,
        "left_s": round(left, 3),
        "updated_at": updated_at.isoformat().replace("+00:00", "Z"),
        "signals_missing": bool(run.live.get("signals_missing")),
        "crew": crew.mark(run),
    }


def _left(run: Run) -> float:
    """Seconds of waiting: of load, or as long as the model takes for the rest at its pace."""
    left = max(0.0, run.duration_s - run.elapsed_s)
    if not run.profile:
        return left
    if not run.elapsed_s or run.load_started_at is None or run.heartbeat_at is None:
        return 0.0
    spent = (run.heartbeat_at - run.load_started_at).total_seconds()
    return left * max(0.0, spent) / run.elapsed_s


def sentences(
    run: Run, slo: Slo | None, board: Board, shown: Mapping[Source, Sequence[Row]]
) -> dict[str, str]:
    """One sentence a figure; of a run that has measured nothing, why it has not."""
    if why := nothing(run, board):
        return dict.fromkeys((panel.name for panel in every()), why)
    steps = {table.source: table.step for table in board.tables}
    return {
        panel.name: panel.sentence(Shown(shown[panel.source], steps[panel.source], slo))
        for panel in every()
    }


def nothing(run: Run, board: Board) -> str:
    """Why nothing is measured; empty where something is."""
    if any(table.rows for table in board.tables):
        return ""
    if run.status == Status.QUEUED:
        return "Nothing yet: no worker has taken this run."
    if run.is_live and run.load_started_at is None:
        return "Nothing yet: the load has not begun."
    if run.is_live:
        return "Nothing yet: the first second is not over."
    before = "before its first second was over" if run.load_started_at else "before any load"
    return f"Nothing was measured: the run {ENDED.get(Status(run.status), 'ended')} {before}."


def figures(run: Run) -> dict[str, Any]:
    """What the page needs to know once: how each figure looks, and what the columns are."""
    slo = slo_of(run)
    specs = []
    shadow = run.scenario.get("shadow") is not None
    for panel in every():
        figure = panel.figure(slo)
        beside = figure.shadow if shadow else None
        series = [*figure.series, *([beside.line] if beside else [])]
        specs.append(
            {
                "id": panel.name,
                "title": figure.title,
                "sub": figure.sub,
                "unit": figure.unit,
                "source": panel.source,
                "order": panel.order,
                "series": [one.to_json() for one in series],
                "divergence": beside.to_json() if beside else None,
                "marks": [{"y": mark.y, "label": mark.label} for mark in figure.marks],
                "y": dict(figure.y),
                "scale_toggle": figure.scale_toggle,
            }
        )
    return {
        "figures": specs,
        "event_columns": ["t", *columns_of("events")],
        "inputs": dict(INPUTS),
        "cohort_columns": ["t", "open", "n", *columns_of("cohorts")],
    }


def slo_of(run: Run) -> Slo | None:
    """The objectives that this run's scenario froze."""
    document = run.scenario.get("slo")
    return Slo.parse(document) if document else None


def _counted(run: Run, table: Table) -> list[Row]:
    """The rows that numbers and sentences are about: cohorts of the warm-up are drawn, and cut."""
    since = run.warm_up_s if table.source == "cohorts" else 0.0
    return [row for row in table.shown() if row.at >= since]


def _table(table: Table, since: int) -> dict[str, Any]:
    return {"step": table.step, "rows": table.changed(since)}

"""A run's page from the database alone: what a reload, a backfill and a late viewer get."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F

from controlplane.runs import frames
from controlplane.runs.board import Board, layout
from controlplane.runs.ledger import put_rows
from controlplane.runs.models import LIVE, Run, RunDecision, RunRow, RunWindow
from measurement.window import Window

BATCH = 200


def board_of(run: Run) -> Board:
    """The stored rows. Those of an ended run that have other columns than now are made anew."""
    if run.live.get("layout", layout()) != layout() and run.status not in LIVE:
        rebuild(run)
    board = Board(run.duration_s, warm_up_s=run.warm_up_s)
    for table in board.tables:
        rows = RunRow.objects.filter(run=run, table=table.source)
        board.restore(table.source, rows.values_list("at", "seq", "values"))
    return board


def backfill(run: Run, *, since: int) -> frames.Frame:
    """Everything that changed after ``since``, in one frame."""
    told = frames.Decided(*(_decisions(run, since, shadow=shadow) for shadow in (False, True)))
    return frames.build(run, board_of(run), told, since=since)


def _decisions(run: Run, since: int, *, shadow: bool) -> list[dict[str, Any]]:
    """The newest lines of a trace, in order, each with its number."""
    if shadow and run.shadow_version_id is None:
        return []
    lines = RunDecision.objects.filter(run=run, shadow=shadow, seq__gt=since).order_by("-n")
    newest = lines.values_list("n", "data")[: frames.MOST_ROWS]
    return [{"n": n, **data} for n, data in reversed(newest)]


def rebuild(run: Run) -> None:
    """Make every row anew from the windows, a few at a time."""
    board = Board(run.duration_s, warm_up_s=run.warm_up_s)
    documents = RunWindow.objects.filter(run=run).order_by("index").values_list("data", flat=True)
    changed = {table.source: set[int]() for table in board.tables}
    for document in documents.iterator(chunk_size=BATCH):
        for source, starts in board.fold([Window.from_json(document)]).items():
            changed[source] |= starts
    for source, starts in board.close().items():
        changed[source] |= starts
    with transaction.atomic():
        live = {**run.live, "layout": layout()}
        Run.objects.filter(pk=run.pk).update(seq=F("seq") + 1, live=live)
        run.refresh_from_db()
        RunRow.objects.filter(run=run).delete()
        put_rows(run, board, changed)


def close_rows(run: Run) -> None:
    """Mark the cohorts of a run that ended without its supervisor: nothing more will come."""
    board = Board(run.duration_s, warm_up_s=run.warm_up_s)
    rows = RunRow.objects.filter(run=run, table="cohorts")
    still_open = [
        (at, seq, [0, *values[1:]])
        for at, seq, values in rows.values_list("at", "seq", "values")
        if values[0]
    ]
    board.restore("cohorts", still_open)
    put_rows(run, board, {"events": set(), "cohorts": {at for at, _, _ in still_open}})

"""Two finished runs as one page: their numbers beside each other, their lines in one chart each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q

from controlplane.runs import frames, mixing, phrases, stored
from controlplane.runs.board import Board, Table
from controlplane.runs.models import Run, Status
from controlplane.runs.panels.base import Row as Measured
from controlplane.runs.panels.base import Series, every
from documents.in_words import in_words
from documents.problem import DocumentError
from loadtest.same_stimulus import DECIDES, Finished, check
from measurement.side_by_side import Group, Row, SideBySide, Value, side_by_side

DRAWN = (
    "goodput_rps",
    "ttft_p95",
    "tpot_p95",
    "e2e_p95",
    "in_flight",
    "attainment_percent",
)
"""The one line of each figure that both runs draw."""
CHOICES = 50


def compare(a: Run, b: Run) -> SideBySide:
    """The numbers; DocumentError where the two were not asked the same."""
    caveats = check(_finished("A", a), _finished("B", b))
    mixed = tuple(filter(None, (mixing.caveat("A", a), mixing.caveat("B", b))))
    return side_by_side(a.summary or {}, b.summary or {}, (*mixed, *caveats))


def others(run: Run) -> list[Run]:
    """Runs that were asked the same and have ended with a report, newest first."""
    same = Q(**{f"scenario__{name}": run.scenario.get(name) for name in DECIDES})
    runs = Run.objects.filter(team=run.team, status=Status.DONE).filter(same).exclude(pk=run.pk)
    return list(runs.exclude(summary=None).with_names()[:CHOICES])


def problems(error: DocumentError) -> list[str]:
    """Why two runs are not put side by side, a sentence each."""
    return [in_words(one) for one in error.problems]


def _finished(name: str, run: Run) -> Finished:
    return Finished(name, run.scenario, run.summary or {"status": run.status})


def figures(a: Run, b: Run) -> dict[str, Any]:
    """What the page's script draws: each figure with A's line solid and B's dashed."""
    boards = [stored.board_of(run) for run in (a, b)]
    slo = frames.slo_of(a) if a.scenario.get("slo") == b.scenario.get("slo") else None
    found: list[dict[str, Any]] = []
    drawn: set[str] = set()
    for panel in every():
        figure = panel.figure(slo)
        own = next((series for series in figure.series if series.key in DRAWN), None)
        if own is None or own.key in drawn:
            continue
        drawn.add(own.key)
        tables = [_table(board, panel.source) for board in boards]
        found.append(
            {
                "id": panel.name,
                "title": figure.title,
                "sub": f"{own.label}, {figure.sub}" if own.label != figure.title else figure.sub,
                "unit": figure.unit,
                "source": panel.source,
                "series": [_line(own, "a", a), _line(own, "b", b)],
                "marks": [{"y": mark.y, "label": mark.label} for mark in figure.marks],
                "y": dict(figure.y),
                "step": tables[0].step,
                "rows": _merged(own.key, *(table.shown() for table in tables)),
                "said": _said(own, *(table.shown() for table in tables)),
            }
        )
    return {"figures": found, "columns": ["t", "open", "n", "a", "b"]}


def _table(board: Board, source: str) -> Table:
    return next(table for table in board.tables if table.source == source)


def _line(series: Series, arm: str, run: Run) -> dict[str, Any]:
    look = {"a": ("A", "s1", "none"), "b": ("B", "s2", "p95")}[arm]
    label, color, dash = look
    label = f"{label}, model" if run.profile else label
    spec = series.to_json() | {"key": arm, "label": label, "color": color, "dash": dash}
    return spec | {"fill": 0.0}


def _merged(key: str, a: list[Measured], b: list[Measured]) -> list[list[float | None]]:
    """Rows of both by their start; n is the lesser of the two, as it greys a percentile."""
    first, second = ({row.at: row for row in rows} for rows in (a, b))
    merged: list[list[float | None]] = []
    for at in sorted({*first, *second}):
        here = [rows.get(at) for rows in (first, second)]
        counts = [row.n for row in here if row is not None]
        merged.append([at, 0, min(counts), *(row[key] if row else None for row in here)])
    return merged


def _said(series: Series, a: list[Measured], b: list[Measured]) -> str:
    """Where the lines lie on average; the table above has the exact numbers."""
    means = []
    for rows in (a, b):
        values = [value for row in rows if (value := row[series.key]) is not None]
        means.append(phrases.number(sum(values) / len(values), series.d) if values else "–")
    return f"Mean of the line: A {means[0]}, B {means[1]}."


def tables(found: SideBySide) -> dict[str, Any]:
    """The rows in words, for the page: the whole run, then each tenant and band."""
    return {
        "whole": [_told(row) for row in found.rows],
        "tenants": list(_groups(found.tenants)),
        "bands": list(_groups(found.bands)),
        "cannot": found.cannot,
    }


def _groups(groups: tuple[Group, ...]) -> Iterator[Mapping[str, Any]]:
    for group in groups:
        yield {"name": group.name, "rows": [_told(row) for row in group.rows]}


def _told(row: Row) -> dict[str, Any]:
    unit = "%" if row.unit == "share" else row.unit
    points = " points" if row.unit == "share" else f" {unit}"
    relative = "" if row.relative is None else f"{_signed(100 * row.relative, 1)} %"
    return {
        "name": row.name,
        "unit": unit,
        "a": _value(row.a, row.unit),
        "b": _value(row.b, row.unit),
        "delta": "–" if row.delta is None else f"{_signed(*_scaled(row.delta, row.unit))}{points}",
        "relative": relative,
    }


def _value(value: Value, unit: str) -> dict[str, Any]:
    def text(number: float | None) -> str:
        return phrases.NOTHING if number is None else phrases.number(*_scaled(number, unit))

    closed = value.low is not None and value.high is not None
    return {
        "text": text(value.value),
        "interval": f"{text(value.low)} – {text(value.high)}" if closed else "",
        "n": phrases.number(value.n) if value.n is not None else "",
        "rough": value.rough,
    }


def _scaled(value: float, unit: str) -> tuple[float, int]:
    """As shown, with its digits."""
    shown = 100 * value if unit == "share" else value
    return shown, 2 if unit == "share" or abs(shown) < 10 else 1 if abs(shown) < 1_000 else 0


def _signed(value: float, digits: int) -> str:
    sign = "+" if value > 0 else ""
    return f"{sign}{phrases.number(value, digits)}"

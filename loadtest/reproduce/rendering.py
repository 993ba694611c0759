"""A reproduction as text, whose table is Markdown too, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from loadtest.reproduce import curve
from loadtest.reproduce.series import Series
from loadtest.reproduce.table import HEADS, Cell, Reproduction


def text(result: Reproduction) -> str:
    """The table and one line a finding; what this run doesn't support says so."""
    head = ("case", "measure", *HEADS)
    lines = [head, *(_line(row) for row in _bodies(result))]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    ruled = [head, tuple("-" * width for width in widths), *lines[1:]]
    table = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in ruled]
    said = [
        f"- {'' if finding.holds else 'NOT SUPPORTED BY THIS RUN: '}{finding.sentence}"
        for finding in result.findings
    ]
    return "\n".join([*table, "", *said])


def as_json(result: Reproduction, seeds: Sequence[int]) -> dict[str, Any]:
    """Every value of every seed; infinities are null."""
    rows = [
        {
            "case": row.case,
            "measure": row.measure,
            "unit": row.unit,
            **{
                name.replace(" ", "_"): None if cell is None else _cell_json(cell)
                for name, cell in zip(HEADS, row.cells, strict=True)
            },
        }
        for row in result.rows
    ]
    findings = [{"sentence": one.sentence, "holds": one.holds} for one in result.findings]
    told = {"seeds": list(seeds), "rows": rows, "findings": findings, "holds": result.holds}
    curves = [curve.as_json(one) for one in result.curves]
    return told | ({"curves": curves} if curves else {})


def _bodies(result: Reproduction) -> list[tuple[str, str, tuple[Cell | None, ...]]]:
    found, before = [], ""
    for row in result.rows:
        measured = f"{row.measure}, {row.unit}" if row.unit else row.measure
        found.append(("″" if row.case == before else row.case, measured, row.cells))
        before = row.case
    return found


def _line(body: tuple[str, str, tuple[Cell | None, ...]]) -> tuple[str, ...]:
    case, measured, cells = body
    return (case, measured, *("–" if cell is None else shown(cell) for cell in cells))


def shown(cell: Cell) -> str:
    """The number with what its interval leaves, or the words; the note behind it."""
    value = cell.value
    said = value if isinstance(value, str) else _series(value)
    return f"{said} ({cell.note})" if cell.note else said


def _series(value: Series | float) -> str:
    """Mean ± half of its interval, with the digits that the interval leaves."""
    if not isinstance(value, Series):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    finite = [one for one in value.values if math.isfinite(one)]
    if len(finite) < len(value.values):
        missing = len(value.values) - len(finite)
        return "never" if not finite else f"never with {missing} of {len(value.values)} seeds"
    margin = value.margin
    if not margin or number(margin) == "0":
        return number(value.mean)
    return f"{number(value.mean)} ± {number(margin)}"


def number(value: float) -> str:
    """Three digits that count, and never a power of ten."""
    if math.isinf(value):
        return "never"
    size = abs(value)
    if size < 5e-4:
        return "0"
    digits = 0 if size >= 100 else max(0, 2 - math.floor(math.log10(size)))
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _cell_json(cell: Cell) -> dict[str, Any]:
    value = cell.value
    if isinstance(value, str):
        return {"words": value, "note": cell.note}
    if not isinstance(value, Series):
        return {"value": value, "note": cell.note}
    finite = [one if math.isfinite(one) else None for one in value.values]
    mean = value.mean if math.isfinite(value.mean) else None
    return {"mean": mean, "margin95": value.margin, "values": finite, "note": cell.note}

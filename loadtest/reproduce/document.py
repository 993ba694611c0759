"""A played system as the document that is written, stored and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from loadtest.reproduce import curve
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.rendering import as_json
from loadtest.reproduce.series import Series
from loadtest.reproduce.table import HEADS, Cell, Finding, Reproduction, Row

MOST_SEEDS = 1000
_CELLS = dict(
    zip(("claimed", "reference", "corrected", "best_fixed", "optimum"), HEADS, strict=True)
)


def document_of(name: str, plan: Plan, result: Reproduction, **more: Any) -> dict[str, Any]:
    """Plain JSON: every value of every seed."""
    size = {"reduced": plan.reduced} | ({} if plan.scale is None else {"scale": plan.scale})
    return {"system": name, **size, **more, **as_json(result, plan.seeds)}


def read(document: Mapping[str, Any]) -> Reproduction:
    """What ``document_of`` was made from; what is null in it never happened. Those of before there
    were curves have none."""
    rows = [
        Row(
            case=row["case"],
            measure=row["measure"],
            unit=row["unit"],
            **{name: _cell(row[head.replace(" ", "_")]) for name, head in _CELLS.items()},
        )
        for row in document["rows"]
    ]
    findings = [Finding(one["sentence"], one["holds"]) for one in document["findings"]]
    curves = [curve.read(one) for one in document.get("curves", [])]
    return Reproduction(tuple(rows), tuple(findings), tuple(curves))


def _cell(given: Mapping[str, Any] | None) -> Cell | None:
    if given is None:
        return None
    note = given.get("note", "")
    if "words" in given:
        return Cell(given["words"], note)
    if "values" not in given:
        return Cell(given["value"], note)
    return Cell(Series(tuple(math.inf if v is None else v for v in given["values"])), note)


def seeds_of(count: int) -> range:
    """The seeds that so many runs of everything take: 1 and up."""
    return range(1, count + 1)

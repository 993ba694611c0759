"""An experiment as its pages show it: in one bar, as a table, as figures, beside its repeat."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from controlplane.experiments import curves
from controlplane.experiments.asking import most_seeds
from controlplane.experiments.lines import LINES
from controlplane.experiments.models import Experiment, ExperimentResult, Status, Way
from controlplane.runs import phrases
from loadtest.reproduce.asked import Asked
from loadtest.reproduce.document import read
from loadtest.reproduce.legend import legend
from loadtest.reproduce.rendering import shown
from loadtest.reproduce.series import Series
from loadtest.reproduce.systems.base import systems
from loadtest.reproduce.table import ENOUGH_SEEDS, Cell, Reproduction, Row

FIVE = 5
WAITING = {
    Status.QUEUED: gettext_lazy("Waiting for a worker to take it."),
    Status.CANCELLING: gettext_lazy("Its process is being ended."),
}


def verdict(experiment: Experiment) -> dict[str, str]:
    """The bar: whether the numbers support what is said of them."""
    found = experiment.found
    if found is None:
        because = experiment.reason or str(WAITING.get(Status(experiment.status), ""))
        said = {"outcome": "none", "word": str(experiment.get_status_display()), "detail": ""}
        if not because and experiment.status == Status.RUNNING:
            because = _progress_said(experiment)
        return said | {"state": "", "because": because}
    seeds = ngettext("over %(n)d seed", "over %(n)d seeds", experiment.seeds) % {
        "n": experiment.seeds
    }
    reduced = _("Reduced runs: a look, not the documentation's figures.")
    parts = (
        _contradicts(found),
        repeat_of(experiment).get("said", ""),
        reduced if experiment.reduced else "",
    )
    detail = " ".join(part for part in parts if part)
    if experiment.seeds < ENOUGH_SEEDS:
        word, outcome = _("Too few seeds"), "inconclusive"
        holds = _("every sentence agrees with the numbers")
        fails = _("not every sentence agrees with the numbers")
        because = _("Nothing is decided %(seeds)s; {so_far} so far. Five tell more.").format(
            so_far=holds if found.holds else fails
        )
    elif found.holds:
        because = _("Every sentence is supported by the numbers of this play, %(seeds)s.")
        word, outcome = _("Supported"), "pass"
    else:
        because = _("Not every sentence is supported by the numbers of this play, %(seeds)s.")
        word, outcome = _("Not supported"), "fail"
    said = {"outcome": outcome, "word": word, "state": _("final"), "detail": detail}
    return said | {"because": because % {"seeds": seeds}}


def _contradicts(found: ExperimentResult) -> str:
    """How often the configuration that was played contradicts itself."""
    # A list has results without their documents; what is said there needs none.
    document = {} if "document" in found.get_deferred_fields() else found.document
    bad = sum(one["bad"] for one in document.get("remarks", []))
    if not bad:
        return ""
    said = ngettext(
        "The configuration contradicts itself once.",
        "The configuration contradicts itself %(n)d times.",
        bad,
    )
    return said % {"n": bad}


def progress(experiment: Experiment) -> dict[str, Any]:
    """Runs with a seed so far, ``done`` with a part of the one that goes on, ``of`` how many."""
    live = experiment.live
    runs, seconds = int(live.get("runs") or 0), float(live.get("seconds") or 0.0)
    done, of = float(live.get("done") or runs), _expected(experiment)
    left = seconds * (of - done) / done if of and 0 < done < of else None
    return {
        "runs": runs,
        "done": round(done, 2),
        "of": of,
        "elapsed": phrases.clock(seconds),
        "left": phrases.clock(left) if left is not None else "",
    }


def _expected(experiment: Experiment) -> int | None:
    """As its process says, or before it does as the system does; None of a system that is gone."""
    if said := experiment.live.get("of"):
        return int(said)
    if experiment.system not in systems.all():
        return None
    return experiment.asked.passes * experiment.seeds


def with_five_seeds(experiment: Experiment) -> str:
    """The form's query for the same with five; empty where the form can't be filled, or refuses."""
    scale = experiment.scale
    if experiment.way == Way.CONFIGURATION or most_seeds(scale) < FIVE:
        return ""
    query = {"system": experiment.system, "way": experiment.way, "seeds": str(FIVE)}
    query |= {"reduced": "on"} if experiment.reduced else {}
    return urlencode(query if scale is None else query | {"scale": f"{scale:g}"})


def size(experiment: Experiment) -> str:
    """How long its runs are."""
    if experiment.reduced:
        return _("reduced")
    if experiment.scale == 1:
        return _("full, the whole day")
    if experiment.scale is not None:
        return _("full, its day at scale %(n)s") % {"n": f"{experiment.scale:g}"}
    return _("full")


def _progress_said(experiment: Experiment) -> str:
    seen = progress(experiment)
    if seen["of"]:
        return _("%(runs)d of %(of)d runs with a seed are done.") % seen
    return _("%(runs)d runs with a seed are done.") % seen


def about(name: str) -> dict[str, str]:
    """What is played, and which law is which."""
    return _about(Asked(name))


def about_play(experiment: Experiment) -> dict[str, str]:
    """The same of a stored play; of a system that is gone, nothing."""
    if experiment.system not in systems.all():
        return {"summary": "", "laws": ""}
    return _about(experiment.asked)


def _about(asked: Asked) -> dict[str, str]:
    summary, laws = asked.about
    return {"summary": _marked(summary), "laws": _marked(laws)}


def _marked(text: str) -> SafeString:
    """Escaped, with what stands in backticks as code."""
    parts = (text[:1].upper() + text[1:]).split("`")
    shapes = itertools.cycle(("{}", '<code class="mono">{}</code>'))
    marked = SafeString("")
    for shape, part in zip(shapes, parts, strict=False):
        marked += format_html(shape, part)
    return marked


def command(experiment: Experiment) -> str:
    """What plays it anywhere."""
    return experiment.asked.command(experiment.seeds)


def page(result: ExperimentResult, laws: str) -> dict[str, Any]:
    """Everything that the result has to show; ``laws``: what is said of them above it."""
    found = read(result.document)
    return {
        "rows": list(_rows(found)),
        "findings": found.findings,
        "signs": legend(found, laws, repeats_cases=False),
        "remarks": result.document.get("remarks", []),
        "seeds": result.document["seeds"],
        "figures": {
            "seeds": result.document["seeds"],
            "figures": list(_figures(found)),
            "curves": list(curves.specs(found)),
        },
    }


def _rows(found: Reproduction) -> Iterator[dict[str, Any]]:
    before = None
    for row in found.rows:
        cells = [phrases.NOTHING if cell is None else shown(cell) for cell in row.cells]
        yield {
            "case": row.case,
            "first": row.case != before,
            "measure": row.measure,
            "unit": row.unit,
            "cells": [
                {"head": line[0], "text": text} for line, text in zip(LINES, cells, strict=True)
            ],
        }
        before = row.case


def _figures(found: Reproduction) -> Iterator[dict[str, Any]]:
    """Each row that was measured under two heads or more: one dot a seed, so that luck shows.

    One seed alone has no luck to show: the table has all of it.
    """
    for place, row in enumerate(found.rows):
        cells = (cell for cell in row.cells if cell)
        measured = [cell.value for cell in cells if isinstance(cell.value, Series)]
        seeds = max((len(series.values) for series in measured), default=0)
        if len(measured) > 1 and seeds > 1:
            yield _figure(place, row)


def _figure(place: int, row: Row) -> dict[str, Any]:
    n = next(len(c.value.values) for c in row.cells if c and isinstance(c.value, Series))
    lines, columns = [], []
    for (label, color, dashed), cell in zip(LINES, row.cells, strict=True):
        column = _column(cell, n)
        if column is None:
            continue
        note = f" ({cell.note})" if cell and cell.note else ""
        constant = cell is not None and not isinstance(cell.value, Series)
        dash = dashed if constant else "none"
        lines.append(
            {"label": f"{label}{note}", "color": color, "dash": dash, "d": 2, "dots": not constant}
        )
        columns.append(column)
    return {
        "id": f"row-{place}",
        "title": row.measure,
        "case": row.case,
        "sub": row.unit,
        "unit": row.unit,
        "series": lines,
        "columns": columns,
        "said": _said(row),
    }


def _column(cell: Cell | None, n: int) -> list[float | None] | None:
    """A value a seed; None where there is no number to draw."""
    if cell is None or isinstance(cell.value, str):
        return None
    values = cell.value.values if isinstance(cell.value, Series) else (float(cell.value),) * n
    return [value if math.isfinite(value) else None for value in values]


def _said(row: Row) -> str:
    parts = [
        f"{label.lower()} {shown(cell)}"
        for (label, _color, _dash), cell in zip(LINES, row.cells, strict=True)
        if cell is not None and label in ("Reference law", "Corrected law")
    ]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def repeat_of(experiment: Experiment) -> dict[str, Any]:
    """Beside the first play of it: identical or not, and where not; empty without both results."""
    first, own = experiment.again_of, experiment.found
    if first is None or own is None or first.found is None:
        return {}
    before = first.found
    if before.sha256 == own.sha256:
        said = _("Identical to %(first)s: every value of every seed, to the last digit.")
        return {"first": first, "identical": True, "said": said % {"first": first.short_id}}
    differing = [*_differing(before.document, own.document)]
    if experiment.way == Way.SERVED:
        said = _(
            "Played in real time, so no two plays are alike: %(n)d of its rows differ from "
            "%(first)s's."
        )
        told = said % {"first": first.short_id, "n": len(differing)}
        return {"first": first, "identical": False, "measured": True, "said": told}
    said = _("Not identical to %(first)s: %(n)d of its rows differ, first %(row)s.") % {
        "first": first.short_id,
        "n": len(differing),
        "row": differing[0] if differing else _("in what is said of them"),
    }
    if before.version != own.version:
        said += " " + _("It was played by version %(a)s, this by %(b)s.") % {
            "a": before.version,
            "b": own.version,
        }
    return {"first": first, "identical": False, "said": said}


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    """Rows of one document that the other has otherwise or not at all."""
    others = {(row["case"], row["measure"]): row for row in b["rows"]}
    for row in a["rows"]:
        if others.get((row["case"], row["measure"])) != row:
            yield f"{row['case']}, {row['measure']}"

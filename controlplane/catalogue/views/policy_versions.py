"""One version of a policy with its evidence, and two of them side by side."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET

from controlplane.catalogue import evidence
from controlplane.catalogue.diffing import parameter_diff, parameters_kept
from controlplane.catalogue.models import Policy
from controlplane.catalogue.views.cells import diff_rows
from controlplane.catalogue.views.policies import own
from controlplane.catalogue.views.versions import version_context
from controlplane.teams.access import page
from controlplane.teams.rights import Right


@page()
@require_GET
def version(request: HttpRequest, pk: uuid.UUID, number: int) -> HttpResponse:
    """What it says, where it came from, who uses it, and what was measured of it."""
    context = version_context(own(request, pk), number, back="catalogue:policies")
    shown = context["version"]
    context |= {
        "aliases": shown.aliases.all(),
        "uses": evidence.uses(shown),
        "entries": [_entry_row(one) for one in evidence.entries(shown)],
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
        "may_run": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "catalogue/policy_version.html", context)


@page()
@require_GET
def diff(request: HttpRequest, pk: uuid.UUID, a: int, b: int) -> HttpResponse:
    """Parameters, then what was measured of each under one load."""
    line = own(request, pk)
    before, after = (get_object_or_404(line.versions, number=number) for number in (a, b))
    context = {
        "line": line,
        "before": before,
        "after": after,
        "numbers": _numbers(line),
        "changes": diff_rows(parameter_diff(before.document, after.document)),
        "kept": diff_rows(parameters_kept(before.document, after.document)),
        "pairs": [_pair_rows(one) for one in evidence.pairs(before, after)],
        "may_run": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "catalogue/policy_diff.html", context)


@page()
@require_GET
def choose(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """From the two numbers that a form chose to the page about them; the newest two unless said."""
    line = own(request, pk)
    newest = line.latest
    numbers = _numbers(line)
    asked = [request.GET.get(name, "") for name in ("from", "to")]
    defaults = (newest.based_on or newest.number, newest.number)
    a, b = (
        int(text) if text in map(str, numbers) else default
        for text, default in zip(asked, defaults, strict=True)
    )
    return redirect("catalogue:policy_diff", line.pk, a, b)


def _numbers(line: Policy) -> list[int]:
    return list(line.versions.values_list("number", flat=True))


def _entry_row(entry: evidence.Entry) -> dict[str, Any]:
    share = entry.attainment
    return {
        **dataclasses.asdict(entry),
        "n": "–" if entry.n is None else f"{entry.n:,}",
        "attainment": "–" if share is None else f"{100 * share:.2f} %",
    }


def _pair_rows(pair: evidence.Pair) -> dict[str, Any]:
    rows = [
        {
            "name": one.name,
            "unit": one.unit,
            "before": _number(one.before, one.digits),
            "after": _number(one.after, one.digits),
            "n_before": f"{one.n_before:,}",
            "n_after": f"{one.n_after:,}",
        }
        for one in pair.figures
    ]
    return {"pair": pair, "rows": rows}


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")

"""The page of two runs side by side: choose them, see them, and no verdict."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from controlplane.runs import modelled, pairing
from controlplane.runs.by_request import by_request
from controlplane.runs.models import Run
from controlplane.teams.access import page
from documents.problem import DocumentError


@page()
@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """``?a=…&b=…``; with A alone, a list of runs that may stand beside it."""
    a, b = _run(request, "a"), _run(request, "b")
    if a is None:
        return render(request, "runs/compare.html", {"choices": _recent(request)})
    context = {
        "a": a,
        "b": b,
        "models": {"a": modelled.words(a), "b": modelled.words(b) if b else {}},
    }
    if b is None:
        return render(request, "runs/compare.html", context | {"choices": pairing.others(a)})
    try:
        found = pairing.compare(a, b)
    except DocumentError as error:
        refused = {"problems": pairing.problems(error), "choices": pairing.others(a)}
        return render(request, "runs/compare.html", context | refused, status=422)
    shown = {
        "found": pairing.tables(found),
        "figures": pairing.figures(a, b),
        "paired": by_request(a, b),
    }
    return render(request, "runs/compare.html", context | shown)


def _recent(request: HttpRequest) -> list[Run]:
    """Runs to begin with."""
    done = Run.objects.for_team(request.team).filter(status=Run.Status.DONE)
    return list(done.with_names()[: pairing.CHOICES])


def _run(request: HttpRequest, name: str) -> Run | None:
    given = request.GET.get(name, "")
    if not given:
        return None
    try:
        pk = uuid.UUID(given)
    except ValueError:
        raise Http404 from None
    runs = Run.objects.for_team(request.team).select_related(
        "endpoint", "policy_version__line", "slo_version__line", "workload", "created_by"
    )
    return get_object_or_404(runs, pk=pk)

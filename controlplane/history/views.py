"""Pages of histories: choose one, see it, note what was behind a change."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from controlplane.catalogue.models import Endpoint, Workload
from controlplane.history import presenting, series, services
from controlplane.runs.models import Run
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.in_words import in_words
from documents.problem import DocumentError
from measurement.change_points import LEAST_RUNS

ROWS = 50


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every pair with runs; with ``?endpoint=…&workload=…`` that one's history."""
    if not request.GET.get("endpoint"):
        return render(request, "history/list.html", {"pairs": series.pairs(request.team)})
    endpoint = _own(request, Endpoint, "endpoint")
    workload = _own(request, Workload, "workload")
    return _history(request, endpoint, workload)


@page()
@require_POST
def acknowledge(request: HttpRequest) -> HttpResponse:
    """Note a change, and back to its history; 422 with the history where the note is no good."""
    run = get_object_or_404(Run.objects.for_team(request.team), pk=_uuid(request.POST.get("run")))
    try:
        services.acknowledge(
            actor=request.actor,
            run=run,
            metric=request.POST.get("metric", ""),
            note=request.POST.get("note", ""),
        )
    except DocumentError as error:
        told = {"problems": [in_words(one) for one in error.problems]}
        key = series.load_key(run.scenario)
        return _history(request, run.endpoint, run.workload, key=key, status=422, **told)
    query = {"endpoint": run.endpoint_id, "workload": run.workload_id}
    load = {"load": series.load_key(run.scenario)}
    return redirect(f"{reverse('history:list')}?{urlencode(query | load)}#changes")


def _history(
    request: HttpRequest,
    endpoint: Endpoint,
    workload: Workload,
    *,
    key: str = "",
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    loads = series.loads(request.team, endpoint, workload)
    known = [load["key"] for load in loads]
    wanted = key or request.GET.get("load", "")
    chosen = wanted if wanted in known else (known[0] if known else "")
    found = series.runs(request.team, endpoint, workload, chosen) if chosen else []
    changes = series.changes(found)
    context = {
        "endpoint": endpoint,
        "workload": workload,
        "loads": loads,
        "load": chosen,
        "runs": found,
        "figures": presenting.figures(found, changes),
        "changes": [{"change": one, "words": presenting.words(one)} for one in changes],
        "unseen": sum(one.noted is None for one in changes),
        "rows": presenting.rows(found, ROWS),
        "least": LEAST_RUNS,
        "may_write": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "history/detail.html", context | more, status=status)


def _own(request: HttpRequest, model: Any, name: str) -> Any:
    return get_object_or_404(model.objects.for_team(request.team), pk=_uuid(request.GET.get(name)))


def _uuid(text: str | None) -> uuid.UUID:
    try:
        return uuid.UUID(text or "")
    except ValueError:
        raise Http404 from None

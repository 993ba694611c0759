"""Pages about experiments: find, call a service, render."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.experiments import presenting, services, watchdog
from controlplane.experiments.forms import ExperimentForm
from controlplane.experiments.models import Experiment, Status
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from loadtest.reproduce.asked import CONFIGURATION
from loadtest.reproduce.systems.base import systems

PER_PAGE = 50


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every experiment of the team, newest first."""
    found = Experiment.objects.for_team(request.team).with_names()
    pages = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page_obj": pages,
        "rows": [
            {"experiment": one, "verdict": presenting.verdict(one), "size": presenting.size(one)}
            for one in pages
        ],
        "systems": [{"name": n, **presenting.about(n)} for n in sorted(systems.all())],
        "may_write": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "experiments/list.html", context)


@page(Right.RUNS_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form; a good one starts the experiment and leads to it."""
    form = ExperimentForm(request.POST or None, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        return redirect(services.start(actor=request.actor, ask=form.ask()))
    known = [
        {"name": name, **presenting.about(name), "not_served": system.served.why_not}
        for name, system in sorted(systems.all().items())
    ]
    status = 422 if request.method == "POST" else 200
    return render(request, "experiments/new.html", {"form": form, "systems": known}, status=status)


@page()
@require_GET
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """An experiment's page; one that is live is asked for again every two seconds."""
    experiment = watchdog.check(_own(request, pk))
    context = _bar(request, experiment)
    about = presenting.about_play(experiment)
    if experiment.found is not None:
        context |= presenting.page(experiment.found, about["laws"])
    context |= {
        "about": about,
        "command": presenting.command(experiment),
        "size": presenting.size(experiment),
        "more": presenting.with_five_seeds(experiment),
        "repeat": presenting.repeat_of(experiment),
        "repeats": experiment.repeats.all(),
        "progress": presenting.progress(experiment),
    }
    response = render(request, "experiments/detail.html", context)
    if request.htmx and not experiment.is_live:
        response["HX-Refresh"] = "true"  # what there is to see now has scripts of its own
    return response


@page()
@require_POST
def cancel(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Stop it; 409 with the bar as it is when there is nothing left to stop."""
    experiment = _own(request, pk)
    try:
        services.cancel(actor=request.actor, experiment=experiment)
    except services.AlreadyEnded as refusal:
        return _refused(request, experiment, str(refusal))
    return redirect(experiment)


@page()
@require_POST
def again(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The same play once more, as one of its own that links to the first."""
    experiment = _own(request, pk)
    try:
        return redirect(services.again(actor=request.actor, experiment=experiment))
    except services.StillLive as refusal:
        return _refused(request, experiment, str(refusal))


@page()
@require_GET
def result(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The stored document, as ``headway reproduce --out`` writes it."""
    experiment = _own(request, pk)
    if experiment.found is None:
        raise Http404
    text = json.dumps(experiment.found.document, indent=1, ensure_ascii=False, allow_nan=False)
    response = HttpResponse(text + "\n", content_type="application/json; charset=utf-8")
    name = f"{experiment.asked.name}-{experiment.short_id}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@page()
@require_GET
def configuration(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The configuration that was played, as a file."""
    experiment = _own(request, pk)
    if not experiment.configuration:
        raise Http404
    response = HttpResponse(
        experiment.configuration + "\n", content_type="application/json; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{CONFIGURATION}"'
    return response


def _own(request: HttpRequest, pk: uuid.UUID) -> Experiment:
    own = Experiment.objects.for_team(request.team)
    return get_object_or_404(own.select_related("result", "again_of__result"), pk=pk)


def _bar(request: HttpRequest, experiment: Experiment) -> dict[str, Any]:
    """What the verdict bar needs."""
    may_write = request.actor.may(Right.RUNS_WRITE)
    return {
        "experiment": experiment,
        "run": experiment,
        "verdict": presenting.verdict(experiment),
        "may_write": may_write,
        "may_cancel": may_write and experiment.status in (Status.QUEUED, Status.RUNNING),
    }


def _refused(request: HttpRequest, experiment: Experiment, why: str) -> HttpResponse:
    context = {**_bar(request, experiment), "refusal": why}
    return render(request, "experiments/_bar.html", context, status=409)

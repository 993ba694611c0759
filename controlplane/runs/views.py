"""Pages about runs: find, call a service, render."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.runs import crew, mixing, modelled, services, stored, watchdog
from controlplane.runs import frames as frame_module
from controlplane.runs.forms import LaunchForm, choices_of, initial_from
from controlplane.runs.launch import LONGEST_NUMBER
from controlplane.runs.models import Run, Status
from controlplane.runs.verdicts import cut, notes, verdict
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.in_words import in_words
from documents.problem import DocumentError
from loadtest import crew_rules
from loadtest.preview import preview_of

PER_PAGE = 50


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every run of the team, newest first."""
    runs = Run.objects.for_team(request.team).with_names()
    status = request.GET.get("status", "")
    if status in Status.values:
        runs = runs.filter(status=status)
    pages = Paginator(runs, PER_PAGE).get_page(request.GET.get("page"))
    rows = [{"run": run, "verdict": verdict(run), "model": modelled.words(run)} for run in pages]
    context = {
        "page_obj": pages,
        "rows": rows,
        "status": status,
        "statuses": Status.choices,
        "may_write": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "runs/list.html", context)


@page(Right.RUNS_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The launch form; a good one starts the run and leads to it."""
    if request.method == "GET":
        form = LaunchForm(team=request.team, initial=initial_from(request.GET))
        return _form(request, form, status=200)
    form = LaunchForm(request.POST, team=request.team)
    if form.is_valid():
        try:
            run = services.start(actor=request.actor, launch=form.launch())
        except DocumentError as error:
            form.tell(error)
        else:
            return redirect(run)
    return _form(request, form, status=422)


def _form(request: HttpRequest, form: LaunchForm, *, status: int) -> HttpResponse:
    missing = [
        name
        for name in ("endpoint", "policy_version", "workload")
        if not form.fields[name].queryset.exists()
    ]
    return render(request, "runs/new.html", {"form": form, "missing": missing}, status=status)


@page(Right.RUNS_WRITE)
@require_http_methods(["GET", "POST"])
def preview(request: HttpRequest) -> JsonResponse:
    """What the form as it stands would send, before it is sent."""
    form = LaunchForm(request.POST or request.GET, team=request.team)
    valid = form.is_valid()
    busy = mixing.warning(request.team, form.cleaned_data.get("endpoint"))
    if valid:
        try:
            scenario = form.launch().scenario()
            drawn = preview_of(scenario).to_json()
            alone = "" if form.on_the_model else crew_rules.hint(scenario)
            told = {"duration_s": scenario.duration_s, "busy": busy, "alone": alone}
            return JsonResponse(told | drawn)
        except DocumentError as error:
            form.tell(error)
    return JsonResponse({"errors": form.errors, "busy": busy}, status=422)


@page()
@require_GET
def detail(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """A run's page; all that moves on it comes in frames."""
    run = watchdog.check(_own(request, run_id))
    frame = stored.backfill(run, since=0)
    return render(request, "runs/detail.html", {**_bar(request, run), **_page(run, frame)})


@page()
@require_GET
def frames(request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """Everything that changed after ``?since=``, in one frame."""
    run = watchdog.check(_own(request, run_id))
    text = request.GET.get("since", "0")
    asked = text.isascii() and text.isdecimal()
    if asked and len(text) > LONGEST_NUMBER:
        wanted = f"since must be a number of at most {LONGEST_NUMBER} digits"
        return JsonResponse({"error": wanted}, status=400)
    since = int(text) if asked else 0
    response = JsonResponse(stored.backfill(run, since=since))
    response["Cache-Control"] = "no-store"
    return response


@page()
@require_POST
def cancel(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Stop a run; 409 with the bar as it is when there is nothing left to stop."""
    run = _own(request, run_id)
    status = 200
    try:
        run = services.cancel(actor=request.actor, run=run)
    except services.AlreadyEnded:
        status = 409
    if request.htmx or status == 409:
        return render(request, "runs/_bar.html", _bar(request, run), status=status)
    return redirect(run)


@page()
@require_POST
def retry(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The same scenario again, as a new run."""
    run = _own(request, run_id)
    try:
        return redirect(services.retry(actor=request.actor, run=run))
    except services.StillLive as refusal:
        why = str(refusal)
    except DocumentError as error:
        why = "; ".join(in_words(one) for one in error.problems)
    context = {**_bar(request, run), "refusal": why}
    return render(request, "runs/_bar.html", context, status=409)


def _own(request: HttpRequest, run_id: uuid.UUID) -> Run:
    runs = Run.objects.for_team(request.team).select_related(
        "endpoint",
        "policy_version__line",
        "shadow_version__line",
        "slo_version__line",
        "workload",
        "created_by",
    )
    return get_object_or_404(runs, pk=run_id)


def _bar(request: HttpRequest, run: Run) -> dict[str, Any]:
    """What the verdict bar needs."""
    return {
        "run": run,
        "model": modelled.words(run),
        "verdict": verdict(run, notes(run)),
        "state": frame_module.state(run),
        "may_write": request.actor.may(Right.RUNS_WRITE),
        "may_cancel": request.actor.may(Right.RUNS_WRITE)
        and run.status in (Status.QUEUED, Status.RUNNING),
        "choices": urlencode(choices_of(run)),
        "measure": urlencode({**choices_of(run), "host": "endpoint"}),
    }


def _page(run: Run, frame: frame_module.Frame) -> dict[str, Any]:
    """What the page needs once: how it draws, and what there is to draw already."""
    return {
        "figures": frame_module.figures(run),
        "cut": cut(run),
        "frame": frame,
        "tiles": frame["tiles"],
        "failures": frame["failures"],
        "tenants": frame["tenants"],
        "crew": crew.rows(run),
        "retries": run.retries.all(),
        "mixed": mixing.beside(run),
    }

"""Pages about comparisons: find, call a service, render."""

from __future__ import annotations

import csv
import io
import json
import uuid
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.comparisons import frames as frame_module
from controlplane.comparisons import presenting, services, watchdog
from controlplane.comparisons.forms import ComparisonForm, missing_of
from controlplane.comparisons.models import Comparison, ComparisonBlock, Status
from controlplane.runs.launch import LONGEST_NUMBER
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.in_words import in_words
from documents.problem import DocumentError
from loadtest.ab.draft import power_of
from measurement.comparison.plan import ComparisonPlan

PER_PAGE = 50


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every comparison of the team, newest first."""
    found = Comparison.objects.for_team(request.team).with_names()
    pages = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page_obj": pages,
        "rows": [{"comparison": one, "verdict": presenting.verdict(one)} for one in pages],
        "may_write": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "comparisons/list.html", context)


@page(Right.RUNS_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form; a good one starts the comparison and leads to it."""
    if request.method == "GET":
        form = ComparisonForm(team=request.team, initial=request.GET.dict())
        return _form(request, form, status=200)
    form = ComparisonForm(request.POST, team=request.team)
    if form.is_valid():
        try:
            return redirect(services.start(actor=request.actor, ask=form.ask()))
        except DocumentError as error:
            form.tell(error)
    return _form(request, form, status=422)


@page(Right.RUNS_WRITE)
@require_http_methods(["GET", "POST"])
def preview(request: HttpRequest) -> HttpResponse:
    """What the form as it stands could find, before it is started."""
    form = ComparisonForm(request.POST or request.GET, team=request.team)
    context: dict[str, Any] = {"faults": [], "power": [], "order": None}
    if form.is_valid():
        try:
            order = form.ask().order(request.team)
        except DocumentError as error:
            context["faults"] = [in_words(problem) for problem in error.problems]
        else:
            power = [one.to_json() for one in power_of(order.plan)]
            context |= {"order": order, "power": presenting.power_of(power)}
    else:
        context["faults"] = form.told()
    return render(request, "comparisons/_power.html", context)


def _form(request: HttpRequest, form: ComparisonForm, *, status: int) -> HttpResponse:
    context = {"form": form, "missing": missing_of(form)}
    return render(request, "comparisons/new.html", context, status=status)


@page()
@require_GET
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """A comparison's page; all that moves on it comes in frames."""
    comparison = watchdog.check(_own(request, pk))
    frame = frame_module.build(comparison, since=0)
    context = {
        **_bar(request, comparison),
        "frame": frame,
        "figures": frame_module.figures(comparison),
        "criteria": frame["criteria"],
        "arms": frame["arms"],
        "columns": presenting.block_columns(ComparisonPlan.parse(comparison.plan)),
        "power": presenting.power_rows(comparison),
        "spec": comparison.plan["spec"],
    }
    return render(request, "comparisons/detail.html", context)


@page()
@require_GET
def frames(request: HttpRequest, pk: uuid.UUID) -> JsonResponse:
    """Everything that changed after ``?since=``, in one frame."""
    comparison = watchdog.check(_own(request, pk))
    text = request.GET.get("since", "0")
    asked = text.isascii() and text.isdecimal()
    if asked and len(text) > LONGEST_NUMBER:
        wanted = f"since must be a number of at most {LONGEST_NUMBER} digits"
        return JsonResponse({"error": wanted}, status=400)
    response = JsonResponse(frame_module.build(comparison, since=int(text) if asked else 0))
    response["Cache-Control"] = "no-store"
    return response


@page()
@require_POST
def cancel(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Stop it; 409 with the bar as it is when there is nothing left to stop."""
    comparison = _own(request, pk)
    try:
        services.cancel(actor=request.actor, comparison=comparison)
    except services.AlreadyEnded:
        return render(request, "comparisons/_bar.html", _bar(request, comparison), status=409)
    return redirect(comparison)


@page()
@require_GET
def verdict(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """The stored result: plan, blocks and verdict, from which the verdict is made anew."""
    comparison = _own(request, pk)
    if not comparison.result:
        raise Http404
    text = json.dumps(comparison.result, ensure_ascii=False, indent=2)
    return _file(text, f"comparison-{comparison.short_id}.json", "application/json")


@page()
@require_GET
def blocks(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Every closed block's counts, as CSV."""
    comparison = _own(request, pk)
    names = [criterion.name for criterion in ComparisonPlan.parse(comparison.plan).criteria]
    out = io.StringIO()
    table = csv.writer(out)
    bad = [f"{arm}_bad_{name}" for name in names for arm in ("baseline", "candidate")]
    heads = ["block", "order", "ended_at_s", "baseline_n", "candidate_n", *bad, "stimulus"]
    table.writerow(heads)
    for row in ComparisonBlock.objects.filter(comparison=comparison):
        a, b = row.data["baseline"], row.data["candidate"]
        counts = [arm["counts"].get(name, {}).get("bad") for name in names for arm in (a, b)]
        n = [arm["scheduled"] - arm["excluded"] for arm in (a, b)]
        table.writerow(
            [row.index, row.data["order"], row.data["ended_at"], *n, *counts, a["stimulus"]]
        )
    return _file(out.getvalue(), f"comparison-{comparison.short_id}-blocks.csv", "text/csv")


def _file(text: str, name: str, kind: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _own(request: HttpRequest, pk: uuid.UUID) -> Comparison:
    own = Comparison.objects.for_team(request.team).with_names()
    return get_object_or_404(own, pk=pk)


def _bar(request: HttpRequest, comparison: Comparison) -> dict[str, Any]:
    """What the verdict bar needs."""
    may_write = request.actor.may(Right.RUNS_WRITE)
    return {
        "comparison": comparison,
        "run": comparison,
        "verdict": presenting.verdict(comparison),
        "may_write": may_write,
        "may_cancel": may_write and comparison.status in (Status.QUEUED, Status.RUNNING),
    }

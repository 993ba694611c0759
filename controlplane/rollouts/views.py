"""Pages about rollouts: the list, the plan's editor, one rollout with its evidence."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from controlplane.catalogue.diffing import parameter_diff
from controlplane.catalogue.forms import YamlForm
from controlplane.catalogue.views.cells import as_yaml
from controlplane.rollouts import frames, presenting, services, tables
from controlplane.rollouts.deciding import rare_of
from controlplane.rollouts.examples import example, missing
from controlplane.rollouts.forms import DecideForm, FreezeForm
from controlplane.rollouts.machine import Refused
from controlplane.rollouts.models import FreezeWindow, Rollout
from controlplane.rollouts.moving import run_of
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.problem import DocumentError

PER_PAGE = 20


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    return list_page(request)


@page(Right.RUNS_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _editor(request, None)


@page()
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return _editor(request, own(request, pk))


@page()
@require_GET
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """One rollout; what moves on it comes in frames, and its parts by htmx when it takes a step."""
    return rollout_page(request, own(request, pk))


@page()
@require_GET
def frame(request: HttpRequest, pk: uuid.UUID) -> JsonResponse:
    """How it stands now, whole: the socket's frames are the same."""
    response = JsonResponse(frames.build(own(request, pk), timezone.now()))
    response["Cache-Control"] = "no-store"
    return response


@page()
@require_GET
def evidence(request: HttpRequest, pk: uuid.UUID, number: int) -> HttpResponse:
    """What a stage's newest verdict can be made again from, as JSON."""
    run = own(request, pk).stage_runs.filter(index=number).order_by("attempt").last()
    if run is None or not run.evidence:
        raise Http404
    response = JsonResponse(run.evidence, json_dumps_params={"indent": 1})
    name = f"rollout-{run.rollout.short_id}-stage-{number}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def own(request: HttpRequest, pk: uuid.UUID) -> Rollout:
    """The team's rollout; another team's is as good as absent."""
    return get_object_or_404(Rollout.objects.for_team(request.team).with_names(), pk=pk)


def list_page(
    request: HttpRequest, *, freeze: FreezeForm | None = None, status: int = 200
) -> HttpResponse:
    """Every rollout of the team, newest first, and when nothing is promoted."""
    now = timezone.now()
    rollouts = Rollout.objects.for_team(request.team).with_names()
    pages = Paginator(rollouts, PER_PAGE).get_page(request.GET.get("page"))
    windows = FreezeWindow.objects.for_team(request.team).not_over(now)
    context = {
        "page_obj": pages,
        "rows": [_row(rollout) for rollout in pages],
        "missing": missing(request.team),
        "windows": windows.select_related("created_by"),
        "frozen": windows.open_at(now).first(),
        "freeze": freeze or FreezeForm(),
        "may_write": request.actor.may(Right.RUNS_WRITE),
        "may_approve": request.actor.may(Right.APPROVE),
    }
    return render(request, "rollouts/list.html", context, status=status)


def rollout_page(
    request: HttpRequest,
    rollout: Rollout,
    *,
    form: DecideForm | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    """The whole page; for htmx the parts alone that a step changes."""
    now = timezone.now()
    run = run_of(rollout)
    first = frames.build(rollout, now)
    decision = presenting.decision_of(rollout, request.actor, now)
    rare = list(rare_of(run)) if run is not None else []
    initial = {"binding": decision["binding"] if decision else ""}
    before, after = rollout.baseline_version, rollout.candidate_version
    context = {
        "rollout": rollout,
        "plan": rollout.document,
        "verdict": first["verdict"],
        "frame": first,
        "canary": first["canary"],
        "steps": presenting.steps_of(rollout),
        "decision": decision,
        "form": form or DecideForm(initial=initial, rare=rare),
        "inaction": presenting.inaction_of(rollout),
        "undoing": presenting.undoing(rollout),
        "changes": [
            one
            for one in parameter_diff(before.document, after.document)
            if one.path.startswith("spec.")
        ],
        "power": tables.power_rows(rollout) if rollout.is_open else [],
        "conflicts": services.conflicts(rollout) if rollout.is_open else [],
        "events": rollout.events.all(),
        "retries": rollout.retries.all(),
        "yaml": as_yaml(rollout.plan),
        "refusal": refusal,
        "may_write": request.actor.may(Right.RUNS_WRITE),
        "may_edit": request.actor.may(Right.RUNS_WRITE)
        and rollout.phase in ("draft", "waiting", "held"),
    }
    return render(request, "rollouts/detail.html", context, status=status)


def _row(rollout: Rollout) -> dict[str, Any]:
    plan = rollout.document
    live = rollout.is_live
    return {
        "rollout": rollout,
        "tone": presenting.tone_of(rollout),
        "word": rollout.get_phase_display(),
        "stage": plan.name_of(rollout.stage) if live else "",
        "place": f"{rollout.stage + 1}/{len(plan.stages)}" if live else "",
        "because": rollout.because,
    }


def _editor(request: HttpRequest, rollout: Rollout | None) -> HttpResponse:
    base = rollout.plan if rollout else example(request.team)
    form = YamlForm(request.POST or None, document=base)
    if request.method == "POST":
        try:
            saved = _saved(request, rollout, form)
        except DocumentError as error:
            form.tell(error)
        except Refused as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("The plan is %(hash)s.") % {"hash": saved.plan_sha256[:12]})
            return redirect(saved)
    context = {
        "rollout": rollout,
        "form": form,
        "missing": missing(request.team),
        "yaml": as_yaml(base),
        "may_write": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "rollouts/edit.html", context, status=422 if form.is_bound else 200)


def _saved(request: HttpRequest, rollout: Rollout | None, form: YamlForm) -> Rollout:
    document = form.document()
    if rollout is None:
        return services.propose(actor=request.actor, document=document)
    return services.edit(actor=request.actor, rollout=rollout, document=document)

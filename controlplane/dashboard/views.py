"""The first page: how gateways and endpoints stand, what runs now, and what to do next."""

from __future__ import annotations

from typing import Any

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from controlplane.catalogue.models import Endpoint, Policy, Slo, Workload
from controlplane.dashboard import fleet
from controlplane.runs import modelled, watchdog
from controlplane.runs.models import LIVE, Run
from controlplane.runs.verdicts import verdict
from controlplane.teams.access import page
from controlplane.teams.models import Team
from controlplane.teams.rights import Right

RECENT = 10


@page()
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    team = request.team
    running = [watchdog.check(run) for run in Run.objects.for_team(team).live().with_names()]
    now = [_row(run) for run in running if run.is_live]
    ended = Run.objects.for_team(team).exclude(status__in=LIVE).with_names()[:RECENT]
    steps = first_steps(team)
    gateways = fleet.rows(team, timezone.now())
    context = {
        "gateways": gateways,
        "trouble": fleet.trouble(gateways),
        "may_add": request.actor.may(Right.CATALOGUE_WRITE),
        "endpoints": endpoints(team),
        "now": now,
        "recent": [_row(run) for run in ended],
        "steps": steps,
        "empty": not ended and not now,
        "may_write": request.actor.may(Right.RUNS_WRITE),
    }
    return render(request, "dashboard/home.html", context)


def endpoints(team: Team) -> list[dict[str, Any]]:
    """Each endpoint with its last run that ended with a verdict."""
    newest = Run.objects.filter(endpoint=OuterRef("pk")).judged()
    last = Subquery(newest.order_by("-created_at").values("pk")[:1])
    rows = list(Endpoint.objects.for_team(team).annotate(last_run_id=last))
    runs = Run.objects.with_names().in_bulk([row.last_run_id for row in rows if row.last_run_id])
    return [
        {
            "endpoint": row,
            "last": _row(runs[row.last_run_id]) if row.last_run_id else None,
        }
        for row in rows
    ]


def first_steps(team: Team) -> list[dict[str, Any]]:
    """What a first run needs, in order, and what of it is there."""
    needed = (
        ("endpoint", Endpoint.objects.for_team(team)),
        ("policy", Policy.objects.for_team(team)),
        ("workload", Workload.objects.for_team(team)),
        ("slo", Slo.objects.for_team(team)),
        ("run", Run.objects.for_team(team)),
    )
    return [{"id": name, "done": rows.exists()} for name, rows in needed]


def _row(run: Run) -> dict[str, Any]:
    return {"run": run, "verdict": verdict(run), "model": modelled.words(run)}

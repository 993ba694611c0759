"""The capacity page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from controlplane.capacity import measured, model_curve, presenting
from controlplane.capacity.forms import PlanForm, usual
from controlplane.teams.access import page
from measurement.capacity.batching import Caps
from measurement.capacity.planning import Plan, Question, plan
from simulator import profile as profiles


@page()
@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """``?endpoint=…&workload=…&load=…&target=…&profile=…``; without them, of the newest run."""
    given = request.GET if request.GET.get("endpoint") else usual(request.team)
    if not given:
        return render(request, "capacity/plan.html", {"empty": True})
    form = PlanForm(given, team=request.team)
    if not form.is_valid():
        return render(request, "capacity/plan.html", {"form": form}, status=422)
    return render(request, "capacity/plan.html", {"form": form, **_planned(request, form)})


def _planned(request: HttpRequest, form: PlanForm) -> dict[str, Any]:
    asked = form.cleaned_data
    points = measured.points(request.team, asked["endpoint"], asked["workload"])
    if not points:
        return {"endpoint": asked["endpoint"], "workload": asked["workload"]}
    load = asked["load"] or max(point.observed.rate for point in points)
    target = asked["target"] / 100 if asked["target"] else measured.target_of(points)
    found = plan(measured.ladders(points), Question(load, target, _caps(asked["profile"])))
    top = presenting.highest(found)
    scenario = points[0].run.scenario
    model = model_curve.curve(asked["profile"], scenario, top) if asked["profile"] else []
    return {
        "endpoint": asked["endpoint"],
        "workload": asked["workload"],
        "load": load,
        "target_percent": None if target is None else 100 * target,
        "plan": found,
        "times": 1 - found.headroom if found.headroom is not None else None,
        "headroom_percent": _percent(found),
        "figures": presenting.figures(found, model, top),
        "rows": presenting.rows(found),
        "most": presenting.told(found.most, 1) if found.most else None,
        "assumptions": presenting.assumptions(found),
        "runs": len(points),
        "policies": sorted({str(point.run.policy_version.line.name) for point in points}),
    }


def _percent(found: Plan) -> float | None:
    """What is left of the knee, in percent; None past it."""
    if found.headroom is None or found.headroom < 0:
        return None
    return 100 * found.headroom


def _caps(profile: str) -> Caps:
    if not profile:
        return Caps()
    known = profiles.load(profile)
    return Caps(known.max_seqs, (known.blocks - 1) * known.block_size)

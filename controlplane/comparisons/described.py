"""The page of two finished runs side by side: a description, never a verdict."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from controlplane.comparisons import presenting
from controlplane.runs.models import Run, Status
from controlplane.runs.storage import directory
from controlplane.teams.access import page
from documents.problem import DocumentError
from loadtest.ab.described import describe
from loadtest.recorder import SAMPLES
from measurement.comparison.paired_replay import UnequalStimulus

CHOICES = 100
LARGEST = 64 * 1024 * 1024
"""Bytes of one run's samples that a page still pairs."""


@page()
@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    """Two runs of the team, chosen by ``?a=`` and ``?b=``."""
    ended = Run.objects.for_team(request.team).with_names().filter(status=Status.DONE)
    context: dict[str, Any] = {"choices": ended[:CHOICES], "refusals": [], "found": None}
    chosen = [_chosen(ended, request.GET.get(side, "")) for side in ("a", "b")]
    context |= {"a": chosen[0], "b": chosen[1]}
    if chosen[0] is not None and chosen[1] is not None:
        context |= _described(chosen[0], chosen[1])
    return render(request, "comparisons/runs.html", context)


def _described(a: Run, b: Run) -> dict[str, Any]:
    for run in (a, b):
        file = directory(run) / SAMPLES
        if file.exists() and file.stat().st_size > LARGEST:
            where = "too many to be paired on a page: use headway compare with both directories"
            return {"refusals": [f"Run {run.short_id} has samples of over 64 MiB, {where}."]}
    try:
        found = describe(directory(a), directory(b))
    except UnequalStimulus as refusal:
        return {"refusals": ["The runs were not asked the same.", *refusal.reasons]}
    except DocumentError:
        return {"refusals": ["The files of one of the runs are not here any more."]}
    return {"found": found, "rows": presenting.parts(found.parts)}


def _chosen(ended: Any, text: str) -> Run | None:
    try:
        return ended.filter(pk=uuid.UUID(text)).first()
    except ValueError:
        return None

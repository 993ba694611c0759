"""SLOs: list, new, edit as text, versions, delete."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.examples import SLO
from controlplane.catalogue.forms import YamlForm
from controlplane.catalogue.models import Slo
from controlplane.catalogue.services import lines as services
from controlplane.catalogue.views.cells import main, table
from controlplane.catalogue.views.removal import remove
from controlplane.catalogue.views.versions import context_of, saved_words, show_version
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.problem import DocumentError
from measurement.objectives import Objective
from measurement.slo import Slo as SloDocument

COLUMNS = [("Name", ""), ("Version", "n"), ("Target", "n"), ("Objectives", "")]


@page()
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    rows = []
    for one in Slo.objects.for_team(request.team).prefetch_related("versions"):
        latest = one.versions.all()[0]
        spec = latest.document["spec"]
        rows.append(
            [
                main(one),
                {"text": str(latest)},
                {"text": f"{100 * spec['target']:.4g} %"},
                {"text": _objectives(latest.document)},
            ]
        )
    return render(request, "catalogue/slos.html", table(COLUMNS, rows))


@page(Right.CATALOGUE_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _edit(request, None)


@page()
@require_http_methods(["GET", "POST"])
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return _edit(request, _own(request, pk))


@page()
@require_GET
def version(request: HttpRequest, pk: uuid.UUID, number: int) -> HttpResponse:
    return show_version(request, _own(request, pk), number, back="catalogue:slos")


@page()
@require_POST
def delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return remove(request, _own(request, pk), back="catalogue:slos")


def _objectives(document: Mapping[str, Any]) -> str:
    """``E2E ≤ 60,000 ms, no error``, with the first letter large."""
    said = ", ".join(_in_words(one) for one in SloDocument.parse(document).objectives)
    return said[:1].upper() + said[1:]


def _in_words(objective: Objective) -> str:
    """The objective's own label, with its limit as a list writes numbers."""
    return objective.label.replace(f"≤ {objective.max:g} ", f"≤ {objective.max:,.15g} ")


def _own(request: HttpRequest, pk: uuid.UUID) -> Slo:
    return get_object_or_404(Slo.objects.for_team(request.team), pk=pk)


def _edit(request: HttpRequest, line: Slo | None) -> HttpResponse:
    form = YamlForm(request.POST or None, document=line.latest.document if line else SLO)
    if request.method == "POST":
        try:
            saved = services.save_slo(actor=request.actor, line=line, document=form.document())
        except DocumentError as error:
            form.tell(error)
        else:
            messages.success(request, saved_words(saved.line.name, saved.version, new=saved.new))
            return redirect(saved.line)
    context = context_of(line) | {
        "slo": line,
        "text": form,
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "catalogue/slo.html", context, status=status)

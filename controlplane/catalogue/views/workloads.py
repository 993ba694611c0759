"""Workloads: list, new, edit by form or as text, delete."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.forms import DocumentForm, WorkloadForm
from controlplane.catalogue.models import Workload
from controlplane.catalogue.services import workloads as services
from controlplane.catalogue.views.cells import as_yaml, main, table
from controlplane.catalogue.views.removal import remove
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.problem import DocumentError
from loadtest.workloads.base import workloads as kinds

COLUMNS = [("Name", ""), ("Kind", ""), ("Hash", ""), ("Changed", "n")]


@page()
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    rows = [
        [
            main(one),
            {"text": one.document["kind"]},
            {"text": one.sha256[:12], "mono": True},
            {"text": f"{one.updated_at:%Y-%m-%d %H:%M} UTC"},
        ]
        for one in Workload.objects.for_team(request.team)
    ]
    return render(request, "catalogue/workloads.html", table(COLUMNS, rows))


@page(Right.CATALOGUE_WRITE)
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _edit(request, None)


@page()
@require_http_methods(["GET", "POST"])
def detail(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return _edit(request, _own(request, pk))


@page()
@require_POST
def delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return remove(request, _own(request, pk), back="catalogue:workloads")


def _own(request: HttpRequest, pk: uuid.UUID) -> Workload:
    return get_object_or_404(Workload.objects.for_team(request.team), pk=pk)


def _edit(request: HttpRequest, workload: Workload | None) -> HttpResponse:
    """The kind in ?kind= (or the stored one) decides which parameters the form has."""
    now: dict[str, Any] = workload.document if workload else {}
    known = kinds.all()
    asked = request.POST.get("kind") or request.GET.get("kind") or now.get("kind", "synthetic")
    kind = known.get(asked, known["synthetic"])
    values = now if now.get("kind") == kind.name else {}
    form = DocumentForm(request.POST or None, of=kind, values=values)
    about = WorkloadForm(
        request.POST or None,
        initial={"name": workload.name, "description": workload.description} if workload else None,
    )
    if request.method == "POST":
        try:
            saved = _save(request, workload, about, {"kind": kind.name, **form.mapping()})
        except DocumentError as error:
            about.tell(error.__class__(p for p in error.problems if p.path == "name"))
            rest = [p for p in error.problems if p.path != "name"]
            form.tell(error.__class__(rest), below="document")
        else:
            messages.success(request, _("%(name)s is saved.") % {"name": saved.name})
            return redirect(saved)
    context = {
        "workload": workload,
        "form": form,
        "about": about,
        "kind": kind,
        "kinds": known.values(),
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
        "yaml": as_yaml(now) if now else "",
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "catalogue/workload.html", context, status=status)


def _save(
    request: HttpRequest, workload: Workload | None, about: WorkloadForm, document: dict[str, Any]
) -> Workload:
    about.is_valid()
    said: dict[str, Any] = {
        "name": about.cleaned_data.get("name", ""),
        "description": about.cleaned_data.get("description", ""),
        "document": document,
    }
    if workload is None:
        return services.create_workload(actor=request.actor, **said)
    return services.change_workload(actor=request.actor, workload=workload, **said)

"""Policies: list, new, edit by law or as text, versions, delete."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.examples import POLICY
from controlplane.catalogue.forms import YamlForm
from controlplane.catalogue.law_form import LawForm
from controlplane.catalogue.models import Policy
from controlplane.catalogue.services import lines as services
from controlplane.catalogue.views.cells import main, table
from controlplane.catalogue.views.removal import remove
from controlplane.catalogue.views.versions import context_of, saved_words, show_version
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.problem import DocumentError

COLUMNS = [("Name", ""), ("Version", "n"), ("Laws", ""), ("Hash", "")]


@page()
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    rows = []
    for one in Policy.objects.for_team(request.team).prefetch_related("versions"):
        latest = one.versions.all()[0]
        laws = [f"{point}: {entry['law']}" for point, entry in latest.document["spec"].items()]
        rows.append(
            [
                main(one),
                {"text": str(latest)},
                {"text": ", ".join(laws)},
                {"text": latest.sha256[:12], "mono": True},
            ]
        )
    return render(request, "catalogue/policies.html", table(COLUMNS, rows))


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
    return show_version(request, _own(request, pk), number, back="catalogue:policies")


@page()
@require_POST
def delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    return remove(request, _own(request, pk), back="catalogue:policies")


def _own(request: HttpRequest, pk: uuid.UUID) -> Policy:
    return get_object_or_404(Policy.objects.for_team(request.team), pk=pk)


def _edit(request: HttpRequest, line: Policy | None) -> HttpResponse:
    """Two ways to the same next version: the law's own form, or the whole document as text."""
    base = line.latest.document if line else POLICY
    as_text = request.method == "POST" and "text" in request.POST
    by_law = request.POST if request.method == "POST" and not as_text else None
    text = YamlForm(request.POST if as_text else None, document=base)
    law = LawForm(by_law, base=base, named=line is not None, asked=request.GET.get("law", ""))
    used = text if as_text else law
    if request.method == "POST":
        try:
            saved = services.save_policy(actor=request.actor, line=line, document=used.document())
        except DocumentError as error:
            used.tell(error)
        else:
            messages.success(request, saved_words(saved.line.name, saved.version, new=saved.new))
            return redirect(saved.line)
    context = context_of(line) | {
        "policy": line,
        "text": text,
        "law": law,
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "catalogue/policy.html", context, status=status)

"""Endpoints: list, new, edit, probe, delete."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.forms import CredentialForm, DocumentForm
from controlplane.catalogue.models import Endpoint
from controlplane.catalogue.services import endpoints as services
from controlplane.catalogue.services.probing import probe_endpoint
from controlplane.catalogue.views.cells import as_yaml, main, table
from controlplane.catalogue.views.removal import remove
from controlplane.sealing import Secret
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.parse import build
from documents.problem import DocumentError, Problem

COLUMNS = [("Name", ""), ("Kind", ""), ("Address", ""), ("Model", ""), ("Max rate", "n")]


@page()
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    rows = [
        [
            main(one),
            {"text": one.get_kind_display()},
            {"text": one.base_url, "mono": True},
            {"text": one.model},
            {"text": f"{one.max_rate:g} req/s" if one.max_rate else ""},
        ]
        for one in Endpoint.objects.for_team(request.team)
    ]
    return render(request, "catalogue/endpoints.html", table(COLUMNS, rows))


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
    return remove(request, _own(request, pk), back="catalogue:endpoints")


@page()
@require_POST
def probe(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Ask the engine what it is; htmx swaps the answer in, a plain form goes back to the page."""
    endpoint = probe_endpoint(actor=request.actor, endpoint=_own(request, pk))
    if request.htmx:
        return render(request, "catalogue/_probe.html", {"endpoint": endpoint})
    return redirect(endpoint)


def _own(request: HttpRequest, pk: uuid.UUID) -> Endpoint:
    return get_object_or_404(Endpoint.objects.for_team(request.team), pk=pk)


def _edit(request: HttpRequest, endpoint: Endpoint | None) -> HttpResponse:
    values = services.document_of(endpoint) if endpoint else None
    form = DocumentForm(request.POST or None, of=EndpointDocument, values=values)
    key = CredentialForm(request.POST or None)
    if request.method == "POST":
        try:
            saved = _save(request, endpoint, form, key)
        except DocumentError as error:
            form.tell(error)
        else:
            messages.success(request, _("%(name)s is saved.") % {"name": saved.name})
            return redirect(saved)
    context = {
        "endpoint": endpoint,
        "form": form,
        "key": key,
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
        "yaml": as_yaml(values) if values else "",
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "catalogue/endpoint.html", context, status=status)


def _save(
    request: HttpRequest, endpoint: Endpoint | None, form: DocumentForm, key: CredentialForm
) -> Endpoint:
    document = build(EndpointDocument, form.mapping())
    if not key.is_valid():
        faults = " ".join(str(fault) for told in key.errors.values() for fault in told)
        raise DocumentError([Problem("credential", "…", faults)])
    credential = Secret(key.cleaned_data.get("credential", ""))
    if endpoint is None:
        return services.create_endpoint(
            actor=request.actor, document=document, credential=credential
        )
    return services.change_endpoint(
        actor=request.actor,
        endpoint=endpoint,
        document=document,
        credential=credential,
        clear_credential=key.cleaned_data.get("clear_credential", False),
    )

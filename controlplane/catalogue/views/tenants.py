"""Tenants: list, new, edit, delete."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from controlplane.catalogue.documents import TenantDocument
from controlplane.catalogue.forms import DocumentForm
from controlplane.catalogue.models import Tenant
from controlplane.catalogue.services import tenants as services
from controlplane.catalogue.views.cells import as_yaml, main, table
from controlplane.catalogue.views.removal import remove
from controlplane.teams.access import page
from controlplane.teams.rights import Right
from documents.parse import build
from documents.problem import DocumentError

COLUMNS = [("Name", ""), ("Tier", ""), ("Weight", "n"), ("Token budget", "n")]


@page()
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    rows = [
        [
            main(one),
            {"text": one.get_tier_display()},
            {"text": f"{one.weight:g}"},
            {"text": f"{one.tokens_per_min:,} tokens/min" if one.tokens_per_min else ""},
        ]
        for one in Tenant.objects.for_team(request.team)
    ]
    return render(request, "catalogue/tenants.html", table(COLUMNS, rows))


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
    return remove(request, _own(request, pk), back="catalogue:tenants")


def _own(request: HttpRequest, pk: uuid.UUID) -> Tenant:
    return get_object_or_404(Tenant.objects.for_team(request.team), pk=pk)


def _edit(request: HttpRequest, tenant: Tenant | None) -> HttpResponse:
    values = services.document_of(tenant) if tenant else None
    form = DocumentForm(request.POST or None, of=TenantDocument, values=values)
    if request.method == "POST":
        try:
            document = build(TenantDocument, form.mapping())
            saved = _save(request, tenant, document)
        except DocumentError as error:
            form.tell(error)
        else:
            messages.success(request, _("%(name)s is saved.") % {"name": saved.name})
            return redirect(saved)
    context = {
        "tenant": tenant,
        "form": form,
        "may_write": request.actor.may(Right.CATALOGUE_WRITE),
        "yaml": as_yaml(values) if values else "",
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "catalogue/tenant.html", context, status=status)


def _save(request: HttpRequest, tenant: Tenant | None, document: TenantDocument) -> Tenant:
    if tenant is None:
        return services.create_tenant(actor=request.actor, document=document)
    return services.change_tenant(actor=request.actor, tenant=tenant, document=document)

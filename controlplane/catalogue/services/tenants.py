"""Tenants: plain rows, replaced as a whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from controlplane.catalogue.documents import TenantDocument
from controlplane.catalogue.models import Tenant
from controlplane.catalogue.services.writing import Guard, free_slug, may_write, note, unguarded
from controlplane.teams.rights import Actor

FIELDS = tuple(field.name for field in dataclasses.fields(TenantDocument))


def document_of(tenant: Tenant) -> dict[str, Any]:
    return {name: getattr(tenant, name) for name in FIELDS}


def create_tenant(*, actor: Actor, document: TenantDocument) -> Tenant:
    may_write(actor, "create_tenant", "tenant", document.name)
    with transaction.atomic():
        slug = free_slug(actor, Tenant, document.name)
        tenant = Tenant.objects.create(team=actor.team, slug=slug, **dataclasses.asdict(document))
        note(actor, "create_tenant", tenant, after=document_of(tenant))
    return tenant


def change_tenant(
    *, actor: Actor, tenant: Tenant, document: TenantDocument, guard: Guard = unguarded
) -> Tenant:
    may_write(actor, "change_tenant", "tenant", tenant.name)
    with transaction.atomic():
        tenant = Tenant.objects.select_for_update().get(pk=tenant.pk)
        guard(tenant)
        before: Mapping[str, Any] = document_of(tenant)
        if document.name != tenant.name:
            tenant.slug = free_slug(actor, Tenant, document.name)
        for name in FIELDS:
            setattr(tenant, name, getattr(document, name))
        tenant.save()
        note(actor, "change_tenant", tenant, before=before, after=document_of(tenant))
    return tenant

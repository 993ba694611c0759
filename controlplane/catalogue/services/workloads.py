"""Workloads: a named document. A run copies it, so a change reaches only later runs."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from controlplane.catalogue import documents
from controlplane.catalogue.models import Workload
from controlplane.catalogue.services.writing import Guard, free_slug, may_write, note, unguarded
from controlplane.teams.rights import Actor
from documents.problem import DocumentError


def create_workload(
    *, actor: Actor, name: str, document: object, description: str = ""
) -> Workload:
    may_write(actor, "create_workload", "workload", name)
    documents.check_name(name)
    checked = _parse(document)
    with transaction.atomic():
        workload = Workload.objects.create(
            team=actor.team,
            name=name,
            slug=free_slug(actor, Workload, name),
            description=description,
            document=checked,
            sha256=documents.digest(checked),
        )
        note(actor, "create_workload", workload, after=checked)
    return workload


def change_workload(
    *,
    actor: Actor,
    workload: Workload,
    name: str,
    document: object,
    description: str = "",
    guard: Guard = unguarded,
) -> Workload:
    may_write(actor, "change_workload", "workload", workload.name)
    documents.check_name(name)
    checked = _parse(document)
    with transaction.atomic():
        workload = Workload.objects.select_for_update().get(pk=workload.pk)
        guard(workload)
        before: dict[str, Any] = workload.document
        if name != workload.name:
            workload.slug = free_slug(actor, Workload, name)
        workload.name, workload.description = name, description
        workload.document, workload.sha256 = checked, documents.digest(checked)
        workload.save()
        note(actor, "change_workload", workload, before=before, after=checked)
    return workload


def _parse(document: object) -> dict[str, Any]:
    try:
        return dict(documents.parse_workload(document))
    except DocumentError as error:
        raise error.below("document") from None

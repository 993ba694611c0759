"""Endpoints and their sealed credentials."""

from __future__ import annotations

import dataclasses
from typing import Any

from django.db import transaction

from controlplane import egress, sealing
from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.models import Endpoint
from controlplane.catalogue.services.writing import Guard, free_slug, may_write, note, unguarded
from controlplane.sealing import Secret
from controlplane.teams.rights import Actor
from documents.problem import DocumentError, Problem
from engines.target import Target

FIELDS = tuple(field.name for field in dataclasses.fields(EndpointDocument))


def document_of(endpoint: Endpoint) -> dict[str, Any]:
    """What was set, without the credential: that is told to nobody."""
    return {name: getattr(endpoint, name) for name in FIELDS}


def create_endpoint(
    *, actor: Actor, document: EndpointDocument, credential: Secret | None = None
) -> Endpoint:
    may_write(actor, "create_endpoint", "endpoint", document.name)
    egress.check(document.base_url, path="base_url")
    _check_key(document, credential)
    with transaction.atomic():
        endpoint = Endpoint(
            team=actor.team,
            slug=free_slug(actor, Endpoint, document.name),
            **dataclasses.asdict(document),
        )
        if credential:
            endpoint.sealed_credential = sealing.seal(credential, owner=str(endpoint.pk))
        endpoint.save(force_insert=True)
        note(
            actor,
            "create_endpoint",
            endpoint,
            after=document_of(endpoint),
            credential="set" if credential else "none",
        )
    return endpoint


def change_endpoint(
    *,
    actor: Actor,
    endpoint: Endpoint,
    document: EndpointDocument,
    credential: Secret | None = None,
    clear_credential: bool = False,
    guard: Guard = unguarded,
) -> Endpoint:
    """Change fields. A credential belongs to one URL: a new URL without a new one clears it."""
    may_write(actor, "change_endpoint", "endpoint", endpoint.name)
    egress.check(document.base_url, path="base_url")
    _check_key(document, credential)
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        guard(endpoint)
        before, moved = document_of(endpoint), endpoint.base_url != document.base_url
        if document.name != endpoint.name:
            endpoint.slug = free_slug(actor, Endpoint, document.name)
        for name in FIELDS:
            setattr(endpoint, name, getattr(document, name))
        told = "kept" if endpoint.has_credential else "none"
        if credential:
            endpoint.sealed_credential = sealing.seal(credential, owner=str(endpoint.pk))
            told = "set"
        elif clear_credential or moved:
            told = "cleared" if endpoint.has_credential else "none"
            endpoint.sealed_credential = ""
        if moved:
            endpoint.probe = endpoint.probed_at = None
        endpoint.save()
        note(
            actor,
            "change_endpoint",
            endpoint,
            before=before,
            after=document_of(endpoint),
            credential=told,
        )
    return endpoint


def _check_key(document: EndpointDocument, credential: Secret | None) -> None:
    """What a run would refuse as its target's key is not stored."""
    try:
        Target(document.base_url, document.model, api_key=credential.reveal() if credential else "")
    except DocumentError as error:
        named = {"api_key": "credential"}
        raise DocumentError(
            Problem(named.get(one.path, one.path), one.value, one.message) for one in error.problems
        ) from None


def credential_of(endpoint: Endpoint) -> Secret:
    """The clear credential, for the one call that needs it; empty when there is none."""
    if not endpoint.has_credential:
        return Secret("")
    return sealing.unseal(endpoint.sealed_credential, owner=str(endpoint.pk))


def reseal() -> int:
    """Seal every credential under the current key; how many changed."""
    changed = 0
    for endpoint in Endpoint.objects.exclude(sealed_credential=""):
        if sealing.is_current(endpoint.sealed_credential):
            continue
        clear = credential_of(endpoint)
        resealed = sealing.seal(clear, owner=str(endpoint.pk))
        changed += Endpoint.objects.filter(
            pk=endpoint.pk, sealed_credential=endpoint.sealed_credential
        ).update(sealed_credential=resealed)
    return changed

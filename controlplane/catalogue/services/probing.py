"""Asking an endpoint what it is. What it answers, failure included, is kept and shown."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction
from django.utils import timezone

from controlplane import egress
from controlplane.catalogue.models import Endpoint
from controlplane.catalogue.services.endpoints import credential_of
from controlplane.catalogue.services.writing import may_write, note
from controlplane.teams.rights import Actor
from documents.problem import DocumentError
from engines.probe import Probe, probe


def probe_endpoint(*, actor: Actor, endpoint: Endpoint) -> Endpoint:
    """Models, metrics and one short answer. It sends the stored key, so it needs a writer."""
    may_write(actor, "probe_endpoint", "endpoint", endpoint.name)
    asked_url = endpoint.base_url
    found = _ask(endpoint)
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
        if endpoint.base_url == asked_url:  # else someone moved it meanwhile
            endpoint.probe, endpoint.probed_at = found, timezone.now()
            endpoint.save(update_fields=["probe", "probed_at"])
        note(actor, "probe_endpoint", endpoint, good=found["good"])
    return endpoint


def _ask(endpoint: Endpoint) -> dict[str, Any]:
    try:
        found = async_to_sync(probe)(
            endpoint.base_url,
            egress.rules(),
            model=endpoint.model,
            api_key=credential_of(endpoint).reveal(),
        )
    except DocumentError as error:
        return _not_asked("; ".join(problem.message for problem in error.problems))
    except OSError as error:
        return _not_asked(f"it could not be reached: {error.strerror or error}")
    return _plain(found)


def _plain(found: Probe) -> dict[str, Any]:
    return {
        "good": found.good,
        "kind": found.kind,
        "models": list(found.models),
        "signals": sorted(found.signals),
        "refused": "",
        "findings": [
            {
                "question": one.question,
                "asked": one.asked,
                "answered": one.answered,
                "tells": one.tells,
                "good": one.good,
            }
            for one in found.findings
        ],
    }


def _not_asked(why: str) -> dict[str, Any]:
    return {
        "good": False,
        "kind": "",
        "models": [],
        "signals": [],
        "refused": why,
        "findings": [],
    }

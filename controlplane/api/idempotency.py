"""Idempotency-Key: a request repeated under its key gets the first one's answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.models import IdempotencyKey
from controlplane.api.problem import Conflict, Unprocessable
from controlplane.teams.rights import Actor
from documents.problem import DocumentError, Problem

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEPT_FOR = timedelta(hours=24)
RUNS_AT_MOST = timedelta(minutes=5)  # a first request older than this died without an answer


def once(request: Request, actor: Actor, work: Callable[[], Response]) -> Response:
    """Do ``work`` for the first request under the caller's key; replay its answer to the others.

    409 while the first still runs, 422 when the key comes with another request. A refused request
    leaves no trace: put right, it may use the same key.
    """
    key = request.headers.get(HEADER, "").strip()
    if not key or len(key) > 255:
        remedy = "is required: a text of your choice, at most 255 characters, new for each request"
        raise DocumentError([Problem(HEADER, key[:40], remedy)])
    claim, kept = _claim(actor, key, _fingerprint(request))
    if kept is not None:
        return kept
    try:
        response = work()
    except BaseException:
        claim.delete()
        raise
    if response.status_code >= 400:
        claim.delete()
        return response
    claim.status = response.status_code
    claim.body = json.loads(JSONRenderer().render(response.data))
    claim.location = response.get("Location", "")
    claim.save(update_fields=["status", "body", "location"])
    return response


def _claim(actor: Actor, key: str, fingerprint: str) -> tuple[IdempotencyKey, Response | None]:
    now = timezone.now()
    mine = IdempotencyKey.objects.filter(team=actor.team, user=actor.user)
    mine.filter(created_at__lt=now - KEPT_FOR).delete()
    mine.filter(key=key, status=None, created_at__lt=now - RUNS_AT_MOST).delete()
    row = IdempotencyKey(team=actor.team, user=actor.user, key=key, fingerprint=fingerprint)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        row = mine.get(key=key)
        return row, _replay(row, fingerprint)
    return row, None


def _replay(row: IdempotencyKey, fingerprint: str) -> Response:
    if row.fingerprint != fingerprint:
        raise Unprocessable(
            f"The {HEADER} {row.key!r} came with another request; use a new key for this one."
        )
    if row.status is None:
        raise Conflict("The first request under this key still runs; ask again in a moment.")
    response = Response(row.body, status=row.status)
    response[REPLAYED] = "true"
    if row.location:
        response["Location"] = row.location
    return response


def _fingerprint(request: Request) -> str:
    body = json.dumps(request.data, sort_keys=True, default=str)
    said = f"{request.method} {request.path}\n{body}"
    return hashlib.sha256(said.encode()).hexdigest()

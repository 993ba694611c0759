"""One change of what a gateway is told: checked as the gateway will, under the next revision."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from controlplane.audit import services as audit
from controlplane.catalogue.services.writing import Guard, unguarded
from controlplane.gateways import feed
from controlplane.gateways.models import Gateway
from documents.problem import DocumentError

NOBODY_YET = "tenants"
"""The one fault that a stored gateway may have: no key has been made, and nobody is let in."""


class Moved(RuntimeError):  # noqa: N818 - reads as what happened
    """Another change came between; read the gateway again."""


def change(
    gateway: Gateway,
    apply: Callable[[Gateway], None],
    *,
    by: str,
    verb: str,
    reason: str = "",
    guard: Guard = unguarded,
) -> Gateway:
    """Apply it to the locked row; what changes nothing leaves no trace, a bad one is refused.

    A change of the configuration raises the revision by compare-and-set. The audit row is written
    in the same transaction.
    """
    with transaction.atomic():
        row = Gateway.objects.select_for_update().get(pk=gateway.pk)
        guard(row)
        before, described = feed.document(row), row.description
        apply(row)
        after = feed.document(row)
        if after != before:
            seen, row.revision, row.published_at = row.revision, row.revision + 1, timezone.now()
            check(row)
            if not Gateway.objects.filter(pk=row.pk, revision=seen).update(revision=row.revision):
                raise Moved
        if after != before or row.description != described:
            row.save()
            audit.record(
                team_id=row.team_id,
                actor=by,
                verb=verb,
                kind="gateway",
                object_id=row.pk,
                name=row.name,
                before=before,
                after=feed.document(row),
                detail={"revision": row.revision, **({"reason": reason} if reason else {})},
            )
    gateway.refresh_from_db()
    return gateway


def check(gateway: Gateway) -> None:
    """DocumentError with whatever the gateway would refuse, but for the want of a first key."""
    try:
        feed.config(gateway)
    except DocumentError as error:
        left = [problem for problem in error.problems if problem.path != NOBODY_YET]
        if left:
            raise DocumentError(left) from None

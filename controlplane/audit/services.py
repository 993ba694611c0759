"""Add to the log, and check that nobody has rewritten it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from controlplane.audit.models import AuditEntry, AuditHead
from documents.canonical import sha256

WIDTHS = {"actor": 200, "verb": 64, "object_name": 200}
"""Characters of an entry's columns; SQLite would store more, PostgreSQL refuses it."""
INSTALLATION = uuid.UUID(int=0)  # the chain of what belongs to no team, such as failed sign-ins


def record(  # noqa: PLR0913 - the facts of an entry, all by keyword
    *,
    team_id: uuid.UUID,
    actor: str,
    verb: str,
    kind: str,
    object_id: object = "",
    name: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    detail: Mapping[str, Any] | None = None,
    denied: bool = False,
) -> AuditEntry:
    """Append one entry; the caller's transaction carries it, so neither stands without the other.

    The head's row is locked first: two writers can't both follow the same entry. A text that is
    longer than its column, such as a long address, is cut there and stands whole in the detail.
    """
    said = {"actor": actor, "verb": verb, "object_name": name}
    fitting = {field: text[: WIDTHS[field]] for field, text in said.items()}
    whole = {field: text for field, text in said.items() if text != fitting[field]}
    AuditHead.objects.get_or_create(team_id=team_id)
    head = AuditHead.objects.select_for_update().get(team_id=team_id)
    entry = AuditEntry(
        team_id=team_id,
        sequence=head.length + 1,
        at=timezone.now(),
        **fitting,
        outcome=AuditEntry.Outcome.DENIED if denied else AuditEntry.Outcome.DONE,
        object_kind=kind,
        object_id=str(object_id),
        before=sha256(before) if before is not None else "",
        after=sha256(after) if after is not None else "",
        detail={**(detail or {}), **({"in_full": whole} if whole else {})},
        previous=head.hash,
    )
    entry.hash = digest(entry)
    entry.save(force_insert=True)
    head.length, head.hash = entry.sequence, entry.hash
    head.save(update_fields=["length", "hash"])
    return entry


def digest(entry: AuditEntry) -> str:
    """The hash of everything an entry says, the hash before it included."""
    said = {
        field.attname: getattr(entry, field.attname)
        for field in AuditEntry._meta.concrete_fields  # noqa: SLF001 - Django's documented API
        if field.attname != "hash"
    }
    said["at"] = entry.at.isoformat()
    said["id"], said["team_id"] = str(entry.pk), str(entry.team_id)
    return sha256(said)


def verify(team_id: uuid.UUID) -> str | None:
    """None when the whole chain holds; else the first thing that does not, in words."""
    previous, length = "", 0
    for entry in AuditEntry.objects.of_team(team_id).iterator():
        if entry.sequence != length + 1:
            return f"entry {length + 1} is missing"
        if entry.previous != previous:
            return f"entry {entry.sequence} does not follow the one before it"
        if digest(entry) != entry.hash:
            return f"entry {entry.sequence} was changed after it was written"
        previous, length = entry.hash, entry.sequence
    head = AuditHead.objects.filter(team_id=team_id).first()
    if head is not None and (head.length, head.hash) != (length, previous):
        return f"entries after {length} are missing; {head.length} were written"
    return None


def chains() -> list[uuid.UUID]:
    """Every team that has a chain."""
    return list(AuditHead.objects.values_list("team_id", flat=True))

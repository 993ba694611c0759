"""Removing an object, and what stands in the way."""

from __future__ import annotations

from django.db import transaction
from django.db.models import ProtectedError

from controlplane.catalogue.models import Owned
from controlplane.catalogue.services.writing import Guard, may_write, note, unguarded
from controlplane.teams.rights import Actor


class InUse(Exception):  # noqa: N818 - a state of the object, told to a person
    """Something that must stay points at the object; the message names what."""


def delete(*, actor: Actor, row: Owned, guard: Guard = unguarded) -> None:
    """Remove an object that nothing needs; InUse names what needs it."""
    kind = row._meta.model_name or ""  # noqa: SLF001
    may_write(actor, f"delete_{kind}", kind, row.name)
    try:
        with transaction.atomic():
            guard(type(row)._default_manager.select_for_update().get(pk=row.pk))  # noqa: SLF001
            note(actor, f"delete_{kind}", row)
            row.delete()
    except ProtectedError as error:
        users = sorted(str(one) for one in error.protected_objects)
        shown = ", ".join(users[:3]) + (f" and {len(users) - 3} more" if len(users) > 3 else "")
        raise InUse(
            f"{row.name} is used by {shown}, whose evidence would be lost; it stays."
        ) from None

"""What every write of the catalogue does: the right, a free name, the audit entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controlplane.audit import services as audit
from controlplane.catalogue.documents import slug_of
from controlplane.catalogue.models import Owned
from controlplane.teams.rights import Actor, Right, require
from documents.problem import DocumentError, Problem

# Called with the locked row before it is changed; raises to refuse (an API's If-Match).
Guard = Callable[[Any], None]


def may_write(actor: Actor, verb: str, kind: str, name: str) -> None:
    require(actor, Right.CATALOGUE_WRITE, to=verb, kind=kind, name=name)


def free_slug(actor: Actor, model: type[Owned], name: str, *, path: str = "name") -> str:
    """The name as it stands in addresses; a Problem when another object of the team has it."""
    slug = slug_of(name)
    if model._default_manager.filter(team=actor.team, slug=slug).exists():  # noqa: SLF001
        kind = model._meta.verbose_name  # noqa: SLF001
        raise DocumentError([Problem(path, name, f"is taken by another {kind}; choose another")])
    return slug


def note(
    actor: Actor,
    verb: str,
    row: Owned,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    **detail: Any,
) -> None:
    audit.record(
        team_id=actor.team.pk,
        actor=actor.name,
        verb=verb,
        kind=row._meta.model_name or "",  # noqa: SLF001
        object_id=row.pk,
        name=row.name,
        before=before,
        after=after,
        detail=detail,
    )


def unguarded(_row: Owned) -> None:
    """No condition."""

"""Aliases of policy versions: where one points now, its moves, and who made them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from controlplane.audit import services as audit
from controlplane.catalogue.models import Alias, AliasMove, Policy, PolicyVersion
from controlplane.catalogue.services.writing import may_write
from controlplane.teams.rights import Actor
from documents.problem import DocumentError, Problem

BUILT_IN = ("stable", "canary")
"""Names with a meaning: what traffic should have, and what is being tried on it."""
NAME_RULE = (
    "must be 1 to 63 small letters, digits and hyphens that begin with a letter, and not 'latest': "
    "a policy without @ is its newest version"
)
MAX_REASON = 400
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")

# Called with the locked alias, None where there is none yet; raises to refuse (an API's If-Match).
AliasGuard = Callable[[Alias | None], None]


@dataclass(frozen=True, slots=True)
class _Asked:
    line: Policy
    name: str
    to: PolicyVersion
    reason: str


def move(
    *,
    actor: Actor,
    line: Policy,
    name: str,
    to: PolicyVersion,
    reason: str = "",
    guard: AliasGuard = lambda _alias: None,
) -> Alias:
    """Point an alias at a version of its policy; a new name makes the alias.

    Where it points there already, nothing is written. DocumentError for a name that is no alias's,
    a version of another policy, or a reason of over 400 characters.
    """
    may_write(actor, "move_alias", "policy", line.name)
    asked = _checked(_Asked(line, name, to, reason.strip()))
    return _move(actor.team.pk, actor.name, asked, guard)


def move_by_system(
    *, team_id: uuid.UUID, by: str, line: Policy, name: str, to: PolicyVersion, reason: str
) -> Alias:
    """The same for what no person does, such as the end of a rollout; ``by`` names it."""
    asked = _checked(_Asked(line, name, to, reason.strip()))
    return _move(team_id, by, asked, lambda _alias: None)


def current(line: Policy, name: str) -> PolicyVersion | None:
    """The version that the alias points at now; None where there is no such alias."""
    return PolicyVersion.objects.filter(aliases__line=line, aliases__name=name).first()


def history(line: Policy, name: str = "") -> QuerySet[AliasMove]:
    """Moves of one alias, or of all of the policy's, newest first."""
    moves = AliasMove.objects.filter(alias__line=line)
    moves = moves.filter(alias__name=name) if name else moves
    return moves.select_related("alias", "from_version", "to_version")


def _checked(asked: _Asked) -> _Asked:
    problems = []
    if not _NAME.fullmatch(asked.name) or asked.name == "latest":
        problems.append(Problem("alias", asked.name, NAME_RULE))
    if asked.to.line_id != asked.line.pk:
        message = f"must be a version of {asked.line.name}"
        problems.append(Problem("version", asked.to.number, message))
    if len(asked.reason) > MAX_REASON:
        message = f"must have at most {MAX_REASON} characters"
        problems.append(Problem("reason", f"{len(asked.reason)} characters", message))
    if problems:
        raise DocumentError(problems)
    return asked


def _move(team_id: uuid.UUID, by: str, asked: _Asked, guard: AliasGuard) -> Alias:
    with transaction.atomic():
        Policy.objects.select_for_update().get(pk=asked.line.pk)
        alias = Alias.objects.filter(line=asked.line, name=asked.name).first()
        guard(alias)
        if alias is not None and alias.version_id == asked.to.pk:
            return alias
        before = alias.version if alias else None
        at = timezone.now()
        alias = alias or Alias(line=asked.line, name=asked.name)
        alias.version, alias.moved_at = asked.to, at
        alias.save()
        alias.moves.create(
            from_version=before, to_version=asked.to, by=by[:200], at=at, reason=asked.reason
        )
        audit.record(
            team_id=team_id,
            actor=by,
            verb="move_alias",
            kind="policy",
            object_id=asked.line.pk,
            name=asked.line.name,
            detail={
                "alias": asked.name,
                "from": before.number if before else None,
                "to": asked.to.number,
                "reason": asked.reason,
            },
        )
    return alias

"""What each role may do. Deny by default: a right that no role lists, nobody has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from django.core.exceptions import PermissionDenied
from django.db import transaction

from controlplane.audit import services as audit
from controlplane.teams.models import ApiToken, Role, Team, User


class Right(StrEnum):
    READ = "read"
    CATALOGUE_WRITE = "catalogue:write"
    RUNS_WRITE = "runs:write"
    APPROVE = "approve"
    TEAM_ADMIN = "team:admin"
    GATEWAY = "gateway"
    """Fetch a gateway's configuration and report telemetry: what its process's token carries."""


_OPERATOR = frozenset({Right.READ, Right.CATALOGUE_WRITE, Right.RUNS_WRITE, Right.GATEWAY})
RIGHTS = MappingProxyType(
    {
        Role.VIEWER: frozenset({Right.READ}),
        Role.OPERATOR: _OPERATOR,
        Role.APPROVER: _OPERATOR | {Right.APPROVE},
        Role.ADMIN: _OPERATOR | {Right.APPROVE, Right.TEAM_ADMIN},
    }
)
# What a token can carry. Approving and running a team need a person.
TOKEN_SCOPES = (Right.READ, Right.CATALOGUE_WRITE, Right.RUNS_WRITE, Right.GATEWAY)


class Denied(PermissionDenied):
    """The actor's role or token does not give the right; the message says what would."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, for which team, as what; with a token, no more than its scopes."""

    user: User
    team: Team
    role: Role
    token: ApiToken | None = None

    def may(self, right: Right) -> bool:
        allowed = RIGHTS.get(self.role, frozenset())
        if self.token is not None:
            allowed = allowed & set(self.token.scopes) & set(TOKEN_SCOPES)
        return right in allowed

    @property
    def name(self) -> str:
        """As the audit log writes it."""
        account = self.user.get_username()
        return f"{account} by token {self.token.prefix}" if self.token else account


def require(actor: Actor, right: Right, *, to: str, kind: str = "team", name: str = "") -> None:
    """Return if the actor may; else write the denial down and raise Denied.

    Call it before a transaction begins, so that the denial stays written.
    """
    if actor.may(right):
        return
    with transaction.atomic():
        audit.record(
            team_id=actor.team.pk,
            actor=actor.name,
            verb=to,
            kind=kind,
            name=name,
            detail={"needed": right.value, "role": actor.role},
            denied=True,
        )
    who = "Your token's scopes" if actor.token else f"Your role ({actor.role})"
    raise Denied(f"{who} can't {to.replace('_', ' ')}; it needs {remedy(right)}.")


def remedy(right: Right) -> str:
    """The least role that has a right."""
    for role, rights in RIGHTS.items():
        if right in rights:
            return f"the right {right.value}, which the role {role} has"
    return f"the right {right.value}"

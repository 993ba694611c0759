"""Who may do what: every role, every right, and tokens below their owners."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlplane.audit.models import AuditEntry
from controlplane.teams.members import set_role
from controlplane.teams.models import ApiToken, Membership, Role, User
from controlplane.teams.rights import Actor, Denied, Right, require

TABLE = {
    "viewer": {"read"},
    "operator": {"read", "catalogue:write", "runs:write", "gateway"},
    "approver": {"read", "catalogue:write", "runs:write", "gateway", "approve"},
    "admin": {"read", "catalogue:write", "runs:write", "gateway", "approve", "team:admin"},
}


@pytest.mark.parametrize("role", Role.values)
def test_a_role_has_exactly_the_rights_of_the_table(
    actor_as: Callable[..., Actor], role: str
) -> None:
    actor = actor_as(role)
    assert {right.value for right in Right if actor.may(right)} == TABLE[role]


def test_a_token_has_no_more_than_its_scopes_and_its_owners_role(
    actor_as: Callable[..., Actor],
) -> None:
    admin, viewer = actor_as("admin"), actor_as("viewer")
    token = ApiToken(scopes=["read", "runs:write"])
    assert Actor(admin.user, admin.team, Role.ADMIN, token).may(Right.RUNS_WRITE)
    assert not Actor(admin.user, admin.team, Role.ADMIN, token).may(Right.CATALOGUE_WRITE)
    assert not Actor(viewer.user, viewer.team, Role.VIEWER, token).may(Right.RUNS_WRITE)


def test_a_token_never_approves_and_never_runs_a_team(actor_as: Callable[..., Actor]) -> None:
    admin = actor_as("admin")
    token = ApiToken(scopes=[right.value for right in Right])
    forged = Actor(admin.user, admin.team, Role.ADMIN, token)
    assert not forged.may(Right.APPROVE)
    assert not forged.may(Right.TEAM_ADMIN)


def test_a_denial_says_what_would_be_needed_and_is_written_down(
    actor_as: Callable[..., Actor],
) -> None:
    viewer = actor_as("viewer")
    with pytest.raises(Denied, match=r"viewer.*catalogue:write, which the role operator has"):
        require(viewer, Right.CATALOGUE_WRITE, to="create_tenant", kind="tenant", name="x")
    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.verb, entry.actor) == (
        "denied",
        "create_tenant",
        "viewer-platform",
    )


def test_the_last_admin_stays_admin(actor_as: Callable[..., Actor]) -> None:
    admin = actor_as("admin")
    with pytest.raises(Denied, match="at least one admin"):
        set_role(actor=admin, user=admin.user, role=Role.VIEWER)
    second = User.objects.create_user("second")
    set_role(actor=admin, user=second, role=Role.ADMIN)
    set_role(actor=admin, user=admin.user, role=Role.VIEWER)
    assert Membership.objects.get(user=admin.user).role == "viewer"


def test_only_an_admin_sets_roles(actor_as: Callable[..., Actor]) -> None:
    approver = actor_as("approver")
    with pytest.raises(Denied):
        set_role(actor=approver, user=approver.user, role=Role.ADMIN)

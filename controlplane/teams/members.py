"""Who is in a team, and as what: added, given another role, removed. One admin always stays."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from controlplane.audit import services as audit
from controlplane.teams.models import ApiToken, Membership, Role, Team, User
from controlplane.teams.rights import Actor, Denied, Right, require
from documents.problem import DocumentError, Problem


def add_member(*, actor: Actor, username: str, role: Role) -> Membership:
    """Take an account that exists into the team; DocumentError says why it can't be."""
    require(actor, Right.TEAM_ADMIN, to="add_member", kind="membership", name=username)
    user = User.objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        remedy = "no active account has this name; it is made by the installation first"
        raise DocumentError([Problem("username", username, remedy)])
    with transaction.atomic():
        _locked(actor.team)
        if Membership.objects.filter(team=actor.team, user=user).exists():
            remedy = "is a member already; change the role in the list"
            raise DocumentError([Problem("username", username, remedy)])
        member = Membership.objects.create(team=actor.team, user=user, role=role)
        _note(actor, "add_member", member, {"role": role.value})
    return member


def set_role(*, actor: Actor, user: User, role: Role) -> Membership:
    """Add a member or change what one may do; a team keeps at least one admin."""
    require(actor, Right.TEAM_ADMIN, to="set_role", kind="membership", name=user.get_username())
    with transaction.atomic():
        _locked(actor.team)
        if role != Role.ADMIN:
            _keep_an_admin(actor.team, user)
        before = Membership.objects.filter(team=actor.team, user=user).first()
        member, _new = Membership.objects.update_or_create(
            team=actor.team, user=user, defaults={"role": role}
        )
        was = {"was": before.role} if before else {}
        _note(actor, "set_role", member, {"role": role.value, **was})
    return member


def remove_member(*, actor: Actor, member: Membership) -> None:
    """End a membership, and for good every token that spoke for it in this team."""
    name = member.user.get_username()
    require(actor, Right.TEAM_ADMIN, to="remove_member", kind="membership", name=name)
    with transaction.atomic():
        _locked(actor.team)
        _keep_an_admin(actor.team, member.user)
        tokens = ApiToken.objects.filter(team=actor.team, user=member.user, revoked_at=None)
        revoked = tokens.update(revoked_at=timezone.now())
        _note(actor, "remove_member", member, {"role": member.role, "tokens_revoked": revoked})
        member.delete()


def _locked(team: Team) -> None:
    """Two changes of one team's members wait for each other, so both can't take the last admin."""
    Team.objects.select_for_update().get(pk=team.pk)


def _keep_an_admin(team: Team, user: User) -> None:
    admins = Membership.objects.filter(team=team, role=Role.ADMIN).values_list("user_id", flat=True)
    if list(admins) == [user.pk]:
        raise Denied("A team keeps at least one admin; make someone else admin first.")


def _note(actor: Actor, verb: str, member: Membership, detail: dict[str, Any]) -> None:
    audit.record(
        team_id=actor.team.pk,
        actor=actor.name,
        verb=verb,
        kind="membership",
        object_id=member.pk,
        name=member.user.get_username(),
        detail=detail,
    )

"""What people do to tokens and sessions, and how a team begins."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from controlplane.audit import services as audit
from controlplane.teams.models import ApiToken, Membership, Role, SignInFailure, Team, User
from controlplane.teams.rights import TOKEN_SCOPES, Actor, Right, require
from documents.problem import DocumentError, Problem

FAILURES_ALLOWED = 5
FAILURES_COUNT_FOR = timedelta(minutes=15)
LAST_USED_STEP = timedelta(minutes=1)


def create_token(
    *, actor: Actor, name: str, scopes: Iterable[str], expires_at: datetime | None
) -> tuple[ApiToken, str]:
    """The token and its secret, which is told this once and kept only as a hash."""
    wanted = [Right(scope) for scope in scopes]
    for scope in wanted:
        if scope not in TOKEN_SCOPES:
            raise DocumentError([Problem("scopes", scope.value, _known_scopes())])
        require(actor, scope, to="create_token", kind="token", name=name)
    secret = f"hw_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        token = ApiToken.objects.create(
            team=actor.team,
            user=actor.user,
            name=name,
            prefix=secret[:9],
            digest=token_digest(secret),
            scopes=[scope.value for scope in wanted],
            expires_at=expires_at,
        )
        _note(actor, "create_token", token, {"scopes": token.scopes})
    return token, secret


def revoke_token(*, actor: Actor, token: ApiToken) -> None:
    """End a token at once: one's own, or as an admin anyone's in the team."""
    if token.user_id != actor.user.pk or actor.token is not None:
        require(actor, Right.TEAM_ADMIN, to="revoke_token", kind="token", name=token.name)
    with transaction.atomic():
        changed = ApiToken.objects.filter(pk=token.pk, revoked_at=None)
        if changed.update(revoked_at=timezone.now()):
            _note(actor, "revoke_token", token, {})


def actor_for_secret(secret: str) -> Actor | None:
    """Whom a bearer token speaks for now, by the owner's membership of today; None if nobody."""
    now = timezone.now()
    usable = ApiToken.objects.usable(now).select_related("team", "user")
    token = usable.filter(digest=token_digest(secret)).first()
    if token is None or not token.user.is_active:
        return None
    member = Membership.objects.filter(team=token.team, user=token.user).first()
    if member is None:
        return None
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_STEP:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return Actor(token.user, token.team, Role(member.role), token)


def token_digest(secret: str) -> str:
    """256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def create_team(*, name: str, slug: str, admin: User) -> Team:
    """A team with its first admin. Called by the installation, not by a member."""
    with transaction.atomic():
        team = Team.objects.create(name=name, slug=slug)
        Membership.objects.create(team=team, user=admin, role=Role.ADMIN)
        audit.record(
            team_id=team.pk,
            actor="installation",
            verb="create_team",
            kind="team",
            object_id=team.pk,
            name=name,
            detail={"admin": admin.get_username()},
        )
    return team


def sign_in_wait(*, account: str, address: str) -> timedelta:
    """How long this account must wait at this address; zero when it may try."""
    now = timezone.now()
    recent = SignInFailure.objects.since(now - FAILURES_COUNT_FOR, account=account, address=address)
    times = list(recent.order_by("-at").values_list("at", flat=True)[:FAILURES_ALLOWED])
    if len(times) < FAILURES_ALLOWED:
        return timedelta()
    return times[-1] + FAILURES_COUNT_FOR - now


def note_sign_in_failure(*, account: str, address: str) -> None:
    """Count a refused sign-in, write it to the installation's log, drop what counts no more."""
    now = timezone.now()
    with transaction.atomic():
        SignInFailure.objects.filter(at__lt=now - FAILURES_COUNT_FOR).delete()
        SignInFailure.objects.create(account=account, address=address, at=now)
        audit.record(
            team_id=audit.INSTALLATION,
            actor=account[:150],
            verb="sign_in",
            kind="session",
            detail={"address": address},
            denied=True,
        )


def forget_sign_in_failures(*, account: str, address: str) -> None:
    SignInFailure.objects.filter(account=account, address=address).delete()


def note_sign_in(*, account: str, address: str) -> None:
    """Write a sign-in that succeeded to the installation's log."""
    with transaction.atomic():
        audit.record(
            team_id=audit.INSTALLATION,
            actor=account,
            verb="sign_in",
            kind="session",
            detail={"address": address},
        )


def _note(actor: Actor, verb: str, token: ApiToken, detail: dict[str, object]) -> None:
    audit.record(
        team_id=actor.team.pk,
        actor=actor.name,
        verb=verb,
        kind="token",
        object_id=token.pk,
        name=token.name,
        detail=detail,
    )


def _known_scopes() -> str:
    return f"must be one of {', '.join(TOKEN_SCOPES)}"

"""API tokens: shown once, kept as a hash, ended by time, by hand or with the membership."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from controlplane.teams.models import ApiToken, Membership
from controlplane.teams.rights import Actor, Denied
from controlplane.teams.services import actor_for_secret, create_token, revoke_token
from documents.problem import DocumentError


def make(actor: Actor, *scopes: str, days: int = 1) -> tuple[ApiToken, str]:
    expires = timezone.now() + timedelta(days=days)
    return create_token(actor=actor, name="ci", scopes=scopes or ("read",), expires_at=expires)


def test_the_secret_has_256_bits_and_only_its_hash_is_kept(operator: Actor) -> None:
    token, secret = make(operator)
    assert secret.startswith("hw_")
    assert len(secret) == 3 + 43
    stored = ApiToken.objects.values().get()
    assert not any(secret in str(value) for value in stored.values())
    assert secret.startswith(token.prefix)


def test_a_token_speaks_for_its_owner_in_its_team(operator: Actor) -> None:
    token, secret = make(operator)
    actor = actor_for_secret(secret)
    assert actor is not None
    assert (actor.user, actor.team, actor.token) == (operator.user, operator.team, token)
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_it_ends_by_revoking_by_time_and_with_the_membership(operator: Actor) -> None:
    revoked, secret = make(operator)
    revoke_token(actor=operator, token=revoked)
    assert actor_for_secret(secret) is None
    assert actor_for_secret(make(operator, days=-1)[1]) is None
    _token, secret = make(operator)
    Membership.objects.all().delete()
    assert actor_for_secret(secret) is None


def test_a_role_taken_away_is_taken_from_the_token_too(operator: Actor) -> None:
    _token, secret = make(operator, "catalogue:write")
    Membership.objects.update(role="viewer")
    actor = actor_for_secret(secret)
    assert actor is not None
    assert actor.role == "viewer"


def test_no_token_carries_more_than_its_maker_or_an_approval(
    actor_as: Callable[..., Actor],
) -> None:
    with pytest.raises(Denied):
        make(actor_as("viewer"), "runs:write")
    with pytest.raises(DocumentError, match="must be one of"):
        make(actor_as("admin"), "approve")


def test_a_token_can_be_revoked_by_its_owner_or_an_admin_only(
    actor_as: Callable[..., Actor], operator: Actor
) -> None:
    token, _secret = make(operator)
    with pytest.raises(Denied):
        revoke_token(actor=actor_as("approver"), token=token)
    revoke_token(actor=actor_as("admin"), token=token)
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_the_page_shows_a_new_secret_once_and_is_not_stored(
    operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    made = client.post("/team/tokens/", {"name": "ci", "scopes": ["read"], "days": "30"})
    assert made.status_code == 200
    assert made["Cache-Control"] == "no-store"
    secret = made.context["secret"]
    assert actor_for_secret(secret) is not None
    assert secret.encode() in made.content
    assert secret.encode() not in client.get("/team/tokens/").content


def test_the_page_refuses_scopes_that_its_maker_lacks(
    actor_as: Callable[..., Actor], page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(actor_as("viewer"))
    answer = client.post("/team/tokens/", {"name": "ci", "scopes": ["runs:write"], "days": "30"})
    assert answer.status_code == 422
    assert not ApiToken.objects.exists()


def test_revoking_from_the_page_works_once_and_only_in_ones_team(
    operator: Actor, stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    token, secret = make(operator)
    path = f"/team/tokens/{token.pk}/revoke/"
    assert page_as(stranger).post(path).status_code == 404
    assert page_as(operator).post(path).status_code == 302
    assert actor_for_secret(secret) is None

"""Signing in: a brake after five failures, cookies, and the team that a session speaks for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from controlplane.audit.models import AuditEntry
from controlplane.audit.services import INSTALLATION
from controlplane.teams.forms import client_address
from controlplane.teams.models import Membership, SignInFailure, Team, User
from controlplane.teams.rights import Actor

PASSWORD = "correct horse battery"
pytestmark = pytest.mark.django_db


def sign_in(client: Client, password: str, user: str = "ada", **extra: str) -> HttpResponse:
    return client.post("/sign-in/", {"username": user, "password": password}, **extra)


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def test_the_right_password_signs_in(ada: User, client: Client) -> None:
    assert sign_in(client, PASSWORD).status_code == 302
    assert client.session["_auth_user_id"] == str(ada.pk)


def test_five_failures_at_one_address_stop_the_sixth_even_with_the_right_password(
    ada: User, client: Client
) -> None:
    assert [sign_in(client, "wrong").status_code for _ in range(5)] == [422] * 5
    refused = sign_in(client, PASSWORD)
    assert refused.status_code == 429
    assert "Try again in 15 min" in refused.content.decode()


def test_another_address_or_account_is_not_held_back(ada: User, client: Client) -> None:
    User.objects.create_user("eve", password=PASSWORD)
    for _ in range(5):
        sign_in(client, "wrong")
    assert sign_in(client, PASSWORD, REMOTE_ADDR="10.9.9.9").status_code == 302
    assert sign_in(Client(), PASSWORD, user="eve").status_code == 302


def test_the_brake_lets_go_after_a_quarter_of_an_hour(ada: User, client: Client) -> None:
    for _ in range(5):
        sign_in(client, "wrong")
    SignInFailure.objects.update(at=timezone.now() - timedelta(minutes=15, seconds=1))
    assert sign_in(client, PASSWORD).status_code == 302


def test_success_forgets_the_failures_before_it(ada: User, client: Client) -> None:
    for _ in range(4):
        sign_in(client, "wrong")
    assert sign_in(client, PASSWORD).status_code == 302
    assert not SignInFailure.objects.exists()


def test_a_failure_is_in_the_installations_log_without_the_password(
    ada: User, client: Client
) -> None:
    sign_in(client, "my-other-password")
    entry = AuditEntry.objects.get(team_id=INSTALLATION)
    assert (entry.actor, entry.verb, entry.outcome) == ("ada", "sign_in", "denied")
    assert "my-other-password" not in str(entry.__dict__)


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_added(settings: Any) -> None:
    request = RequestFactory().get("/", headers={"X-Forwarded-For": "6.6.6.6, 10.0.0.7"})
    assert client_address(request) == "127.0.0.1"
    settings.BEHIND_PROXY = True
    assert client_address(request) == "10.0.0.7"


def test_after_signing_in_one_is_not_sent_to_another_site(ada: User, client: Client) -> None:
    said = {"username": "ada", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/sign-in/", said)["Location"] == "/"


def test_signing_out_needs_a_post(ada: User, client: Client) -> None:
    client.force_login(ada)
    assert client.get("/sign-out/").status_code == 405
    client.post("/sign-out/")
    assert "_auth_user_id" not in client.session


def test_forms_need_their_csrf_token(ada: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert sign_in(strict, PASSWORD).status_code == 403


def test_a_session_speaks_for_the_chosen_team_while_its_member(
    operator: Actor, other_team: Team, page_as: Callable[[Actor], Client]
) -> None:
    client = page_as(operator)
    assert client.post(f"/team/switch/{other_team.pk}/").status_code == 404
    Membership.objects.create(team=other_team, user=operator.user, role="viewer")
    client.post(f"/team/switch/{other_team.pk}/")
    assert client.get("/audit/").wsgi_request.team == other_team
    Membership.objects.filter(team=other_team).delete()
    assert client.get("/audit/").wsgi_request.team == operator.team


def test_a_member_of_no_team_is_told_so(ada: User, client: Client) -> None:
    client.force_login(ada)
    answer = client.get("/audit/")
    assert answer.status_code == 403
    assert "in no team" in answer.content.decode()

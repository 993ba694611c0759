"""Two teams, a person of each role, clients signed in as them, and API calls with a token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from controlplane.celery import app
from controlplane.teams.models import Membership, Role, Team, User
from controlplane.teams.rights import TOKEN_SCOPES, Actor
from controlplane.teams.services import create_token

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _plain_static(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]


@pytest.fixture(autouse=True)
def _own_broker() -> Iterator[None]:
    """No connection to one test's broker lives on into the next, which may have another."""
    yield
    app._pool = app.amqp._producer_pool = None


@pytest.fixture
def team(db: None) -> Team:
    return Team.objects.create(name="Platform", slug="platform")


@pytest.fixture
def other_team(db: None) -> Team:
    return Team.objects.create(name="Research", slug="research")


@pytest.fixture
def actor_as(team: Team) -> Callable[..., Actor]:
    """``actor_as("viewer")``: a member of that role, of the first team unless said."""

    def make(role: str, of: Team | None = None) -> Actor:
        where = of or team
        user = User.objects.create_user(f"{role}-{where.slug}", password=PASSWORD)
        Membership.objects.create(team=where, user=user, role=role)
        return Actor(user, where, Role(role))

    return make


@pytest.fixture
def operator(actor_as: Callable[..., Actor]) -> Actor:
    return actor_as("operator")


@pytest.fixture
def stranger(actor_as: Callable[..., Actor], other_team: Team) -> Actor:
    """An admin, but of another team."""
    return actor_as("admin", other_team)


@pytest.fixture
def page_as() -> Callable[[Actor], Client]:
    def make(actor: Actor) -> Client:
        client = Client()
        client.force_login(actor.user)
        return client

    return make


@pytest.fixture
def api_as() -> Callable[..., Callable[..., Any]]:
    """``call = api_as(actor)``, then ``call("put", "/tenants/x", {…}, If_Match=tag)``."""

    def make(actor: Actor, *scopes: str) -> Callable[..., Any]:
        wanted = scopes or [scope for scope in TOKEN_SCOPES if actor.may(scope)]
        _token, secret = create_token(actor=actor, name="test", scopes=wanted, expires_at=None)
        client = Client()

        def call(method: str, path: str, body: Any = None, **headers: str) -> Any:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            return getattr(client, method)(
                f"/api/v1{path}",
                data=body,
                content_type="application/json",
                headers={"Authorization": f"Bearer {secret}", **names},
            )

        return call

    return make

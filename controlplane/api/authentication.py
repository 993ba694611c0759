"""Bearer tokens. The token's owner, team and role of today become the request's actor."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    get_authorization_header,
)
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from controlplane.teams.models import User
from controlplane.teams.rights import Actor
from controlplane.teams.services import actor_for_secret

REMEDY = "Send Authorization: Bearer hw_…; tokens are made on the page API tokens."


class BearerAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, Actor] | None:
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        if len(words) != 2:
            raise AuthenticationFailed(f"The Authorization header is malformed. {REMEDY}")
        actor = actor_for_secret(words[1].decode("latin-1"))
        if actor is None:
            raise AuthenticationFailed(f"This token is unknown, revoked or expired. {REMEDY}")
        return actor.user, actor

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - DRF's signature
        return 'Bearer realm="headway"'


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "controlplane.api.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "bearerFormat": "hw_…"}


class PageSession(SessionAuthentication):
    """A signed-in browser; only for what is read, such as the schema."""

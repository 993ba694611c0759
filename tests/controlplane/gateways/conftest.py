"""A gateway with two lanes, and what its processes would say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.catalogue.documents import EndpointDocument, TenantDocument
from controlplane.catalogue.models import PolicyVersion, Tenant
from controlplane.catalogue.services import endpoints, lines, tenants
from controlplane.gateways import writing
from controlplane.gateways.documents import GatewayDocument
from controlplane.gateways.models import Gateway
from controlplane.teams.rights import Actor
from controlplane.teams.services import create_token
from tests.gateway.serving import policy, slo

AT = 1_795_970_040.0
"""When the telemetry of these tests begins, in Unix seconds; a whole window's start."""


@pytest.fixture
def version_of(operator: Actor) -> Callable[..., PolicyVersion]:
    def make(name: str, **law: Any) -> PolicyVersion:
        document = policy(name, **law).to_document()
        return lines.save_policy(actor=operator, document=document).version

    return make


@pytest.fixture
def steady(version_of: Callable[..., PolicyVersion]) -> PolicyVersion:
    return version_of("steady", limit=8)


@pytest.fixture
def wide(version_of: Callable[..., PolicyVersion]) -> PolicyVersion:
    return version_of("wide", limit=16)


@pytest.fixture
def acme(operator: Actor) -> Tenant:
    return tenants.create_tenant(actor=operator, document=TenantDocument("acme"))


@pytest.fixture
def edge(operator: Actor, steady: PolicyVersion, acme: Tenant) -> Gateway:
    """Lanes p and q of one engine each; an SLO on TTFT; acme is who comes without a key."""
    for name in ("e-p", "e-q"):
        given = EndpointDocument(name, f"http://127.0.0.1:{9000 + ord(name[-1])}", "m")
        endpoints.create_endpoint(actor=operator, document=given)
    lines.save_slo(actor=operator, document=slo(ttft_ms=500))
    document = GatewayDocument(
        name="edge",
        policy="steady",
        lanes={"p": ["e-p"], "q": ["e-q"]},
        slo="chat",
        anonymous="acme",
    )
    return writing.create_gateway(actor=operator, document=document)


class Plane:
    """The API as a gateway process calls it."""

    def __init__(self, secret: str, slug: str) -> None:
        self.client = Client()
        self.base = f"/api/v1/gateways/{slug}"
        self.headers = {"Authorization": f"Bearer {secret}"}

    def config(self, etag: str = "") -> Any:
        more = {"If-None-Match": etag} if etag else {}
        return self.client.get(f"{self.base}/config", headers={**self.headers, **more})

    def send(self, batch: Any) -> Any:
        return self.client.post(
            f"{self.base}/telemetry", batch, content_type="application/json", headers=self.headers
        )


@pytest.fixture
def plane(operator: Actor, edge: Gateway) -> Plane:
    _token, secret = create_token(actor=operator, name="edge", scopes=["gateway"], expires_at=None)
    return Plane(secret, edge.slug)

"""The demo team's gateway: two equal engines behind it, and an endpoint row that is itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from controlplane.catalogue.demo import TEAM, placed
from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.models import Endpoint, Tenant
from controlplane.catalogue.services import endpoints
from controlplane.gateways import writing
from controlplane.gateways.documents import GatewayDocument
from controlplane.gateways.models import Gateway, TenantKey
from controlplane.sealing import Secret
from controlplane.teams.models import Membership, Role, Team
from controlplane.teams.rights import Actor
from controlplane.teams.services import actor_for_secret, create_token, token_digest

NAME = "demo"
LANES = {"p": ("lane-p",), "q": ("lane-q",)}
TENANT = "assistant"
OWN_ENDPOINT = "demo-gateway"
TOKEN_FILE, KEY_FILE = "gateway_token", "demo_key"  # names of files, no secrets


def load(*, lane_urls: tuple[str, ...], gateway_url: str, folder: Path) -> str:
    """Make what is missing; the names of what was made, for a person to read."""
    actor = _admin()
    told = "One of the demo gateway's two engines: profile qwen3-32b, H100, TP 2"
    lanes = [
        EndpointDocument(f"lane-{name}", url, "simulated", kind="simulated", description=told)
        for name, url in zip(LANES, lane_urls, strict=True)
    ]
    made = placed(actor, lanes)
    gateway = Gateway.objects.for_team(actor.team).filter(slug=NAME).first()
    if gateway is None:
        document = GatewayDocument(
            name=NAME,
            policy="fixed-32",
            lanes={name: list(slugs) for name, slugs in LANES.items()},
            slo="chat-interactive",
            description="Stands before two simulated engines; a trickle of chat goes through it",
        )
        gateway = writing.create_gateway(actor=actor, document=document)
        made.append(f"gateway {NAME}")
    key, _new = _kept(folder / KEY_FILE, _opens(gateway), lambda: _key(actor, gateway))
    _kept(folder / TOKEN_FILE, _feeds(actor), lambda: _token(actor))
    return ", ".join([*made, *_itself(actor, gateway_url, key)])


def _admin() -> Actor:
    team = Team.objects.get(slug=TEAM)
    member = Membership.objects.filter(team=team, role=Role.ADMIN).select_related("user")[0]
    return Actor(member.user, team, Role.ADMIN)


def _key(actor: Actor, gateway: Gateway) -> str:
    tenant = Tenant.objects.for_team(actor.team).get(slug=TENANT)
    return writing.make_key(actor=actor, gateway=gateway, tenant=tenant, name="demo traffic")[1]


def _token(actor: Actor) -> str:
    return create_token(actor=actor, name="demo gateway", scopes=["gateway"], expires_at=None)[1]


def _opens(gateway: Gateway) -> Callable[[str], bool]:
    usable = TenantKey.objects.usable().filter(gateway=gateway)
    return lambda secret: usable.filter(digest=token_digest(secret)).exists()


def _feeds(actor: Actor) -> Callable[[str], bool]:
    def good(secret: str) -> bool:
        found = actor_for_secret(secret)
        return found is not None and found.team == actor.team

    return good


def _kept(path: Path, good: Callable[[str], bool], make: Callable[[], str]) -> tuple[str, bool]:
    """The secret in a file that its owner alone can read; another one when it opens nothing."""
    try:
        secret = path.read_text().strip()
    except FileNotFoundError:
        secret = ""
    if secret and good(secret):
        return secret, False
    secret = make()
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secret + "\n")
    part.replace(path)
    return secret, True


def _itself(actor: Actor, url: str, key: str) -> list[str]:
    """The gateway as an endpoint, so that a load test can be pointed at it."""
    document = EndpointDocument(
        OWN_ENDPOINT,
        url,
        "simulated",
        description="The demo gateway itself: what is sent here goes under its policy",
    )
    found = Endpoint.objects.for_team(actor.team).filter(slug=OWN_ENDPOINT).first()
    secret = Secret(key)
    if found is None:
        endpoints.create_endpoint(actor=actor, document=document, credential=secret)
        return [OWN_ENDPOINT]
    stale = found.has_credential and endpoints.credential_of(found).reveal() != key
    if found.base_url == document.base_url and found.has_credential and not stale:
        return []
    endpoints.change_endpoint(actor=actor, endpoint=found, document=document, credential=secret)
    return [f"{OWN_ENDPOINT} (moved)"]

"""A real gateway in front of a real engine model, fed by the real server: once, end to end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from controlplane.catalogue.documents import EndpointDocument, TenantDocument
from controlplane.catalogue.services import endpoints, lines, tenants
from controlplane.gateways import feed, reading, services, writing
from controlplane.gateways.documents import GatewayDocument
from controlplane.gateways.models import Gateway, GatewayStream
from controlplane.teams.rights import Actor
from controlplane.teams.services import create_token
from engines.egress import EgressRules
from gateway.attached import AttachedGateway, Attachment
from gateway.clock import SteadyClock
from gateway.server import ServerOptions
from tests.engine_process import engine_process
from tests.gateway.serving import policy, slo

WITHIN = 20.0
ASKED = {"model": "simulated", "stream": True, "max_tokens": 4,
         "messages": [{"role": "user", "content": "Hi"}]}  # fmt: skip


async def ask(port: int, key: str) -> str:
    """One streamed request; the version that served it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(ASKED).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = (await reader.read()).decode()
    writer.close()
    assert answer.startswith("HTTP/1.1 200"), answer[:200]
    (said,) = [line for line in answer.splitlines() if line.lower().startswith("x-headway-policy")]
    return said.partition(":")[2].strip()


async def until(what: Callable[[], Any]) -> Any:
    """The first true answer of a question to the database."""
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        if found := await sync_to_async(what)():
            return found
        await asyncio.sleep(0.1)
    raise AssertionError("it never came to be")


@pytest.mark.django_db(transaction=True)
def test_a_version_goes_live_between_two_requests_and_is_reported(
    live_server: Any, operator: Actor, tmp_path: Path, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    with engine_process() as engine:
        endpoint = EndpointDocument("engine", engine.url, "simulated", kind="simulated")
        endpoints.create_endpoint(actor=operator, document=endpoint)
        lines.save_slo(actor=operator, document=slo(ttft_ms=5000))
        steady, wide = (
            lines.save_policy(actor=operator, document=policy(name, limit=limit).to_document())
            for name, limit in (("steady", 8), ("wide", 16))
        )
        document = GatewayDocument("edge", "steady", lanes={"p": ["engine"]}, slo="chat")
        edge = writing.create_gateway(actor=operator, document=document)
        acme = tenants.create_tenant(actor=operator, document=TenantDocument("acme"))
        _key, key = writing.make_key(actor=operator, gateway=edge, tenant=acme, name="bot")
        _token, token = create_token(
            actor=operator, name="edge", scopes=["gateway"], expires_at=None
        )
        attachment = Attachment(live_server.url, "edge", token, tmp_path)

        def serve() -> None:
            services.serve(actor=operator, gateway=edge, version=wide.version)

        first, second = asyncio.run(_story(attachment, key, edge, serve))
    assert first == f"steady@{steady.version.sha256[:12]}"
    assert second == f"wide@{wide.version.sha256[:12]}"
    found = reading.arms(edge, since=time.time() - 120, until=time.time() + 120)
    assert found["active"].cohort.offered == 3
    assert found["active"].cohort.met == 3
    assert found["active"].cohort.tenants["acme"].offered == 3
    assert GatewayStream.objects.get().acknowledged == running_number(tmp_path)


def running_number(folder: Path) -> int:
    """The last batch that the gateway made, from its own disk, where none waits any more."""
    assert not list((folder / "telemetry").glob("*.json"))
    return int((folder / "telemetry" / "last").read_text())


async def _outage(running: AttachedGateway, meanwhile: Callable[[], Awaitable[Any]]) -> None:
    """The control plane is away; requests are served on, and what they say is kept."""
    plane, telemetry = running.control_plane, running.telemetry
    assert telemetry is not None
    url = plane.url
    object.__setattr__(plane, "url", "http://127.0.0.1:9")
    try:
        await meanwhile()
        async with asyncio.timeout(WITHIN):
            while not telemetry.failures or len(running.spool) < 2:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
    finally:
        object.__setattr__(plane, "url", url)


async def _story(
    attachment: Attachment, key: str, edge: Gateway, serve: Callable[[], Any]
) -> tuple[str, str]:
    options = ServerOptions(host="127.0.0.1", port=0, rules=EgressRules.loopback())
    running = AttachedGateway(attachment, options, SteadyClock())
    try:
        async with asyncio.timeout(WITHIN):
            server = await running.start()
        first = await ask(server.port, key)
        await _outage(running, lambda: ask(server.port, key))
        await sync_to_async(serve)()
        wanted = (await sync_to_async(feed.config)(edge)).sha256
        await until(lambda: Gateway.objects.filter(pk=edge.pk, config_seen=wanted).exists())
        second = await ask(server.port, key)
    finally:
        await running.stop()
    return first, second

"""The gateway's socket: members alone, and frames flow while somebody is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from controlplane.gateways import feed
from controlplane.gateways.models import Gateway
from controlplane.teams.rights import Actor
from tests.controlplane.gateways.conftest import Plane
from tests.controlplane.gateways.saying import Process
from tests.controlplane.runs.viewer import Viewer

pytestmark = pytest.mark.django_db(transaction=True)


def viewer(actor: Actor, gateway: Gateway) -> Viewer:
    client = Client()
    client.force_login(actor.user)
    cookies = client.cookies.output(header="", attrs=[]).strip()
    return Viewer(f"/ws/gateways/{gateway.pk}/", cookies=cookies, origin="http://localhost")


async def heard(one: Viewer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await one.hear())["text"])
    return found


async def test_a_viewer_gets_a_frame_with_each_batch(
    edge: Gateway, operator: Actor, plane: Plane, tmp_path: Path, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    one = await sync_to_async(viewer)(operator, edge)
    assert await one.connect()
    assert await heard(one) == {"type": "hello", "seq": 0, "status": "running"}
    at = float(int(timezone.now().timestamp()))
    told = await sync_to_async(feed.document)(edge)
    process = Process(told, tmp_path / "one", at)
    process.serve()
    process.until(at + 1)
    answer = await sync_to_async(plane.send)(process.batch())
    assert answer.status_code == 200
    frame = await heard(one)
    assert (frame["type"], frame["seq"], frame["full"]) == ("frame", 1, True)
    assert frame["verdict"]["word"] == "Serving"
    await one.leave()


async def test_another_teams_gateway_has_no_socket(
    edge: Gateway, stranger: Actor, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    one = await sync_to_async(viewer)(stranger, edge)
    assert await one.connect()
    assert (await one.hear())["code"] == 4404
    await one.leave()

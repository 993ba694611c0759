"""The socket of a comparison: its frames go to its team, and to nobody else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from controlplane.comparisons import live
from controlplane.comparisons.models import Comparison
from controlplane.runs.consumers import NOT_FOUND
from controlplane.teams.rights import Actor
from tests.controlplane.runs.viewer import Viewer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def view(comparison: Comparison) -> AsyncIterator[Callable[[Client], Viewer]]:
    opened: list[Viewer] = []

    def make(client: Client) -> Viewer:
        cookies = client.cookies.output(header="", attrs=[]).strip()
        path = f"/ws/comparisons/{comparison.pk}/"
        opened.append(Viewer(path, cookies=cookies, origin="http://localhost"))
        return opened[-1]

    yield make
    for one in opened:
        await one.leave()


async def test_a_viewer_hears_where_it_stands_and_then_each_frame(
    view: Callable[[Client], Viewer],
    comparison: Comparison,
    operator: Actor,
    page_as: Callable[[Actor], Client],
) -> None:
    one = view(await sync_to_async(page_as)(operator))
    assert await one.connect()
    hello = json.loads((await one.hear())["text"])
    assert (hello["type"], hello["status"]) == ("hello", "queued")
    await sync_to_async(live.announce)(comparison)
    frame = json.loads((await one.hear())["text"])
    assert frame["verdict"]["word"] == "Queued"
    assert frame["run"]["status"] == "queued"


async def test_a_stranger_is_told_that_there_is_nothing(
    view: Callable[[Client], Viewer], stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    one = view(await sync_to_async(page_as)(stranger))
    assert await one.connect()
    assert (await one.hear())["code"] == NOT_FOUND

"""The socket: who may look, what is relayed, what a slow viewer gets."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.test import Client

from controlplane.runs import live, services
from controlplane.runs.consumers import Outbox, RunConsumer
from controlplane.runs.models import Run, Status
from controlplane.teams.models import Membership, User
from controlplane.teams.rights import Actor
from tests.controlplane.runs.viewer import Viewer

pytestmark = pytest.mark.django_db(transaction=True)

Connect = Callable[..., Any]


@pytest.fixture
def cookie(user: User) -> str:
    client = Client()
    client.force_login(user)
    return f"{client.cookies.output(header='', attrs=[]).strip()}"


@pytest.fixture
async def connect(cookie: str) -> AsyncIterator[Connect]:
    opened: list[Viewer] = []

    def make(run_id: object, *, cookies: str = cookie, origin: str = "http://localhost") -> Any:
        opened.append(Viewer(f"/ws/runs/{run_id}/", cookies=cookies, origin=origin))
        return opened[-1]

    yield make
    for one in opened:
        await one.leave()


async def hello(one: Viewer) -> dict[str, Any]:
    assert await one.connect()
    return await heard(one)


async def heard(one: Viewer) -> dict[str, Any]:
    return json.loads((await one.hear())["text"])


async def closing(one: Viewer) -> int:
    assert await one.connect()
    return (await one.hear())["code"]


async def tell(run: Run, seq: int, status: str = "running") -> None:
    text = json.dumps({"type": "frame", "seq": seq})
    message = {"type": "run.frame", "seq": seq, "mark": status, "text": text}
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(live.group(run.pk), message)


async def test_a_viewer_is_told_where_the_run_stands(connect: Connect, claimed: Run) -> None:
    said = await hello(connect(claimed.pk))
    assert said == {"type": "hello", "seq": claimed.seq, "status": "running"}


async def test_frames_are_relayed_as_they_are(connect: Connect, claimed: Run) -> None:
    one = connect(claimed.pk)
    await hello(one)
    await tell(claimed, 7)
    assert (await heard(one)) == {"type": "frame", "seq": 7}


async def test_every_viewer_gets_the_one_frame(connect: Connect, claimed: Run) -> None:
    viewers = [connect(claimed.pk) for _ in range(20)]
    for one in viewers:
        await hello(one)
    await tell(claimed, 7)
    seen = [(await heard(one))["seq"] for one in viewers]
    assert seen == [7] * 20


async def test_a_cancel_is_seen_at_once(connect: Connect, claimed: Run, actor: Actor) -> None:
    one = connect(claimed.pk)
    await hello(one)
    await sync_to_async(services.cancel)(actor=actor, run=claimed)
    frame = await heard(one)
    assert (frame["seq"], frame["run"]["status"]) == (claimed.seq, "cancelling")
    assert frame["verdict"]["word"] == "Stopping"


async def test_a_stranger_is_turned_away(connect: Connect, claimed: Run) -> None:
    assert await closing(connect(claimed.pk, cookies="")) == 4401


async def test_another_teams_run_is_not_there(
    connect: Connect, claimed: Run, stranger: Actor
) -> None:
    def signed_in() -> str:
        client = Client()
        client.force_login(stranger.user)
        return client.cookies.output(header="", attrs=[]).strip()

    cookies = await sync_to_async(signed_in)()
    assert await closing(connect(claimed.pk, cookies=cookies)) == 4404
    assert await closing(connect(uuid.uuid4())) == 4404


async def test_a_page_of_another_origin_is_refused(connect: Connect, claimed: Run) -> None:
    assert not await connect(claimed.pk, origin="https://evil.example").connect()


@pytest.mark.parametrize("loss", ["membership", "account", "session"])
async def test_who_loses_the_right_while_looking_is_closed(
    connect: Connect, claimed: Run, user: User, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    monkeypatch.setattr(RunConsumer, "check_every", 0.1)
    one = connect(claimed.pk)
    await hello(one)
    if loss == "membership":
        await Membership.objects.filter(user=user).adelete()
    elif loss == "account":
        await User.objects.filter(pk=user.pk).aupdate(is_active=False)
    else:
        from django.contrib.sessions.models import Session

        await Session.objects.all().adelete()
    assert (await one.hear())["code"] == 4403


async def test_what_a_viewer_sends_is_ignored(connect: Connect, claimed: Run) -> None:
    one = connect(claimed.pk)
    await hello(one)
    await one.say("x" * 10_000)
    await tell(claimed, 7)
    assert (await heard(one))["seq"] == 7


async def drained(outbox: Outbox) -> list[str]:
    found = []
    while outbox._waiting:
        found.append(await outbox.get())
    return found


async def test_a_slow_viewer_gets_the_newest_frame() -> None:
    outbox = Outbox()
    outbox.put("1", "running")
    assert await outbox.get() == "1"
    for n in range(2, 1_000):
        outbox.put(str(n), "running")
    assert await drained(outbox) == ["999"]


async def test_a_frame_that_changes_the_status_is_never_passed_over() -> None:
    outbox = Outbox()
    story = [("1", "running"), ("2", "running"), ("3", "cancelling"), ("4", "cancelling")]
    for text, status in [*story, ("5", "cancelling"), ("6", Status.CANCELLED)]:
        outbox.put(text, status)
    assert await drained(outbox) == ["1", "3", "6"]


async def test_the_outbox_waits_for_the_next() -> None:
    outbox = Outbox()
    waiting = asyncio.ensure_future(outbox.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    outbox.put("1", "running")
    assert await waiting == "1"


async def test_a_viewer_who_reads_nothing_holds_nobody_up(
    connect: Connect, claimed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, gate, newest = asyncio.Event(), asyncio.Event(), asyncio.Event()
    send, put = RunConsumer.send, Outbox.put

    async def slow(self: RunConsumer, text_data: str | None = None, **more: Any) -> None:
        if text_data and '"seq": 7}' in text_data:
            stuck.set()
            await gate.wait()
        await send(self, text_data=text_data, **more)

    def noticed(self: Outbox, text: str, mark: str) -> None:
        put(self, text, mark)
        if '"seq": 59}' in text:
            newest.set()

    monkeypatch.setattr(RunConsumer, "send", slow)
    monkeypatch.setattr(Outbox, "put", noticed)
    one = connect(claimed.pk)
    await hello(one)
    await tell(claimed, 7)
    async with asyncio.timeout(60):
        await stuck.wait()
        for seq in range(8, 60):
            await tell(claimed, seq)
        await newest.wait()
    gate.set()
    assert (await heard(one))["seq"] == 7
    assert (await heard(one))["seq"] == 59

"""A rollout's socket: its team is told each look's frame, and nobody else is told anything."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from controlplane.rollouts import passing
from controlplane.rollouts.models import Rollout
from controlplane.teams.models import User
from controlplane.teams.rights import Actor
from tests.controlplane.rollouts.conftest import World
from tests.controlplane.runs.viewer import Viewer

pytestmark = pytest.mark.django_db(transaction=True)


def cookies(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies.output(header="", attrs=[]).strip()


async def test_frames_reach_the_team_and_no_one_else(
    world: World, propose: Callable[..., Rollout], operator: Actor, stranger: Actor
) -> None:
    rollout = await sync_to_async(propose)("canary", "full")
    path = f"/ws/rollouts/{rollout.pk}/"
    mine = await sync_to_async(cookies)(operator.user)
    theirs = await sync_to_async(cookies)(stranger.user)
    member = Viewer(path, cookies=mine, origin="http://localhost")
    outsider = Viewer(path, cookies=theirs, origin="http://localhost")
    try:
        assert await outsider.connect()
        assert (await outsider.hear())["code"] == 4404
        assert await member.connect()
        hello = json.loads((await member.hear())["text"])
        assert (hello["type"], hello["status"]) == ("hello", "draft")
        await sync_to_async(rollout.refresh_from_db)()
        assert rollout.watched_at is not None
        await sync_to_async(passing.once)(rollout.watched_at)
        frame = json.loads((await member.hear())["text"])
        assert (frame["type"], frame["run"]["status"]) == ("frame", "draft")
    finally:
        await member.leave()
        await outsider.leave()

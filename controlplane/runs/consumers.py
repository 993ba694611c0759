"""Live frames over a WebSocket: relayed as they come, computed by nobody here.

A viewer that is slower than the frames gets the newest one; frames that change the status or the
verdict always go out. What was passed over shows as a gap in ``seq``: the page asks for it over
HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from controlplane.runs import live, watchdog
from controlplane.runs.models import Run
from controlplane.teams.models import Membership, Role
from controlplane.teams.rights import RIGHTS, Right

NOT_SIGNED_IN, FORBIDDEN, NOT_FOUND = 4401, 4403, 4404


class Outbox:
    """Frames on their way to one viewer: the newest, and those that must not be lost."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[bool, str]] = deque()
        self._mark: str | None = None
        self._arrived = asyncio.Event()

    def put(self, text: str, mark: str) -> None:
        """Take a frame; it replaces a waiting one that brought no new status or verdict."""
        keep, self._mark = mark != self._mark, mark
        if self._waiting and not self._waiting[-1][0]:
            self._waiting.pop()
        self._waiting.append((keep, text))
        self._arrived.set()

    async def get(self) -> str:
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()[1]


class NoSuchPath(AsyncWebsocketConsumer):
    """Any other address: told so, instead of an error in the log."""

    async def connect(self) -> None:
        await self.accept()  # else the browser is not told the code
        await self.close(code=NOT_FOUND)


class RunConsumer(AsyncWebsocketConsumer):
    """One viewer of one run."""

    check_every = 15.0
    """Seconds between two looks at whether the viewer may still look."""

    async def connect(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._group = ""
        run_id = self.scope["url_route"]["kwargs"]["run_id"]
        refusal, run = await self._look_up(run_id)
        await self.accept()
        if run is None:
            await self.close(code=refusal)
            return
        self._run = run
        self._outbox = Outbox()
        self._group = live.group(run_id)
        await self.channel_layer.group_add(self._group, self.channel_name)
        seq, status = await self._now()  # after joining: nothing falls between the two
        await self.send(json.dumps({"type": "hello", "seq": seq, "status": status}))
        self._tasks = [asyncio.create_task(self._relay()), asyncio.create_task(self._guard())]

    async def disconnect(self, code: int) -> None:  # noqa: ARG002
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError, ConnectionError, RuntimeError):
                await task
        if self._group:
            await self.channel_layer.group_discard(self._group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A viewer has nothing to say; what comes is left unread."""

    async def run_frame(self, event: Mapping[str, Any]) -> None:
        self._outbox.put(event["text"], event["mark"])

    async def _relay(self) -> None:
        while True:
            await self.send(text_data=await self._outbox.get())

    async def _guard(self) -> None:
        while True:
            await asyncio.sleep(self.check_every)
            if not await self._may_look():
                await self.close(code=FORBIDDEN)
                return

    @database_sync_to_async
    def _look_up(self, run_id: object) -> tuple[int, Run | None]:
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            return NOT_SIGNED_IN, None
        run = Run.objects.filter(pk=run_id).first()
        if run is None or not may_look(user.pk, run):
            return NOT_FOUND, None
        return 0, watchdog.check(run)

    @database_sync_to_async
    def _may_look(self) -> bool:
        """Still signed in, still active, still of the team that owns the run."""
        session = self.scope.get("session")
        if session is not None and not session.exists(session.session_key):
            return False
        return may_look(self.scope["user"].pk, self._run)

    @database_sync_to_async
    def _now(self) -> tuple[int, str]:
        return Run.objects.values_list("seq", "status").get(pk=self._run.pk)


def may_look(user_id: object, run: Any) -> bool:
    """Whether an account is of the team that owns what is looked at, and may read it."""
    member = Membership.objects.filter(
        user_id=user_id, team_id=run.team_id, user__is_active=True
    ).first()
    return member is not None and Right.READ in RIGHTS[Role(member.role)]

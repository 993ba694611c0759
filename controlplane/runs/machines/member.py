"""A slice carried by a Celery worker on another machine, as the lead's process sees it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np
from redis.exceptions import RedisError

from controlplane.runs.machines.choosing import machine_of
from controlplane.runs.machines.wire import LINES, SILENCE_S, Message, decode
from loadtest.crew_member import Heard, Member
from loadtest.execution import Start
from loadtest.machine_clock import ROUNDS, Exchange, MachineClock, Reading, read
from loadtest.scenario import Scenario
from loadtest.schedule import Slice
from loadtest.version import version

log = logging.getLogger(__name__)

LAST_READING_S = 2.0
"""Seconds for the second reading of its clock, once it has reported."""
Say = Callable[[Message], Awaitable[None]]
_Came = tuple[bytes, float]


def made_by() -> dict[str, str]:
    """What a schedule is computed with: two machines that differ here may compute two."""
    return {"version": version(), "numpy": np.__version__}


class MachineMember(Member):
    """``say`` sends to the machine; ``hear`` is called with each message of its, when it comes."""

    def __init__(
        self,
        part: Slice,
        node: str,
        say: Say,
        heard: Heard,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        name = f"Machine {machine_of(node)} (slice {part.number + 1} of {part.of})"
        super().__init__(part, name, heard)
        self.node = node
        self.clock: MachineClock | None = None
        self._say = say
        self._now = clock
        self._inbox: asyncio.Queue[_Came | None] = asyncio.Queue()
        self._replies: asyncio.Queue[tuple[Message, float]] = asyncio.Queue()
        self._tasks: set[asyncio.Future[None]] = set()
        self._here = False
        self._next = 0
        self._lines = 0
        self._probes = 0
        self._complete = False
        """All that it measured has come."""
        self._over = False

    def hear(self, raw: bytes, at: float) -> None:
        """A message of its, which came at that moment of our clock."""
        self._inbox.put_nowait((raw, at))

    async def start(self, scenario: Scenario) -> None:
        self.listening = asyncio.ensure_future(self._listen())
        self._send({"type": "given", "scenario": scenario.to_document()})

    async def meet(self) -> None:
        self.clock = MachineClock(await self._read_clock())

    def go(self, start: Start) -> None:
        if self.clock is not None:
            at = start.monotonic + self.clock.first.offset
            self._send({"type": "go", "monotonic": at, "unix": start.unix})

    def cancel(self) -> None:
        self._send({"type": "cancel"})

    def kill(self) -> None:
        if not self.listening.done():
            if not self._complete:
                self._give_up("did not end in time and was given up")
            self._inbox.put_nowait(None)

    def about(self) -> Mapping[str, Any]:
        return {"machine": self.node, "clock": self.clock.to_json() if self.clock else None}

    def doubts(self) -> tuple[str, ...]:
        doubt = self.clock.doubt(self.name) if self.clock else ""
        return (*super().doubts(), *([doubt] if doubt else []))

    async def said(self, within: float = 1.0) -> None:
        """Wait until it has been told what it was to be told."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)

    async def _listen(self) -> None:
        """Hear it until it has said all, or is given up."""
        while not self._over:
            try:
                async with asyncio.timeout(SILENCE_S):
                    came = await self._inbox.get()
            except TimeoutError:
                if self._here:  # before, whoever waits for all of them keeps the deadline
                    self._give_up(f"said nothing for {SILENCE_S:g} s and was given up")
                continue
            if came is None:
                break
            try:
                self._hear(decode(came[0]), came[1])
            except (ValueError, KeyError, TypeError) as error:
                self._give_up(f"said what is no message, and was given up: {error!r}")
        self.ready.set()

    def _hear(self, message: Message, at: float) -> None:
        if message["n"] < self._next:
            return  # sent again, after a connection broke that had carried it
        if message["n"] > self._next:
            gap = f"messages {self._next} to {message['n'] - 1} did not arrive"
            self._give_up(f"was given up, since its {gap}")
            return
        self._next += 1
        kind = message["type"]
        if kind == "reply":
            self._replies.put_nowait((message, at))
        elif kind == "here":
            self._meet_version(message)
        elif kind == "done":
            self._end(message)
        elif kind != "beat":
            self._lines += message[LINES].count(b"\n") if kind == "samples" else 0
            self._take(message)

    def _meet_version(self, message: Message) -> None:
        self._here = True
        its, ours = ({name: it[name] for name in made_by()} for it in (message, made_by()))
        if its != ours:
            words = ("Headway {version} with numpy {numpy}".format(**it) for it in (its, ours))
            its_words, our_words = words
            self._give_up(f"runs {its_words}, and the lead {our_words}: schedules may differ")

    def _end(self, message: Message) -> None:
        """It has said all: was it all that there is?"""
        if message["requests"] != self._lines:
            self._give_up(f"measured {message['requests']:,} requests, and {self._lines:,} arrived")
        elif self.measured is None:
            self._give_up(self.refused or message["how"])
        else:
            self._complete = True
            self._task(self._part())

    async def _part(self) -> None:
        """Read its clock once more, and let it go."""
        with contextlib.suppress(TimeoutError, RedisError):
            async with asyncio.timeout(LAST_READING_S):
                last = await self._read_clock()
                self.clock = MachineClock(self.clock.first, last) if self.clock else None
        self._over = True
        self._send({"type": "bye"})
        self._inbox.put_nowait(None)

    async def _read_clock(self) -> Reading:
        """TimeoutError and RedisError come out of whoever asks."""
        exchanges = []
        for _round in range(ROUNDS):
            self._probes += 1
            asked = self._now()
            await self._say({"type": "probe", "id": self._probes})
            reply, back = await self._replies.get()
            while reply["id"] != self._probes:
                reply, back = await self._replies.get()
            exchanges.append(Exchange(asked, reply["heard"], reply["answered"], back))
        return read(exchanges)

    def _give_up(self, why: str) -> None:
        """It is lost; should it still live, it is told to stop."""
        self.measured = None
        self.lost = self.lost or why
        self._over = True
        self._send({"type": "kill"})

    def _send(self, message: Message) -> None:
        self._task(self._say(message))

    def _task(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(self._logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _logged(self, work: Awaitable[None]) -> None:
        """A broker that is away shows as silence, which has its deadline."""
        try:
            await work
        except (RedisError, OSError) as error:
            log.warning("%s: not said: %s", self.name, error)

"""Start each request at its intended time: never early, never re-anchored.

The open-loop pacer arms one timer at a time, for the next instant of an absolute schedule. Late
requests are started at once and keep their intended time, so lateness shows as send lag and a
stall of the client can't lower the load it claims. The closed-loop pacer owns slots.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice, takewhile
from typing import Protocol

from loadtest.alarm import Alarm, LoopAlarm, MakeAlarm
from loadtest.arrivals.base import ClosedLoop
from loadtest.schedule import Job, Schedule
from loadtest.workloads.base import Shape

DROP_AFTER = 1.0
"""Seconds late, for the client's own cause, after which a request is not worth sending."""
_BATCH = 64
"""Overdue requests started before the event loop gets a turn."""
_WRITTEN = 8
_WORDS = 2_000
"""Prompts written at once, and their tokens, behind which no further one is begun: that takes some
tenths of a millisecond."""

Launch = Callable[[Job, str], None]
Now = Callable[[], float]


class Pacer(Protocol):
    """Launches the requests of one schedule; times are seconds from its start."""

    async def run(self) -> None:
        """Return when nothing more will be launched."""
        ...

    def ended(self, job: Job, at: float, *, success: bool) -> None:
        """A launched request was resolved."""
        ...

    def stop(self, at: float) -> list[Job]:
        """Launch nothing more. What was due by ``at`` and never launched."""
        ...


def pacer(schedule: Schedule, launch: Launch, now: Now, alarm: MakeAlarm = LoopAlarm) -> Pacer:
    """The pacer that fits the schedule's process; an open loop is woken by an alarm."""
    loop = schedule.closed_loop
    if loop:
        return ClosedPacer(schedule, loop, launch, now)
    return OpenPacer(schedule, launch, now, alarm)


class OpenPacer:
    def __init__(
        self, schedule: Schedule, launch: Launch, now: Now, alarm: MakeAlarm = LoopAlarm
    ) -> None:
        self._make_alarm = alarm
        self._alarm: Alarm | None = None
        self._duration = schedule.duration
        self._prompt = schedule.prompt
        self._launch = launch
        self._now = now
        self._jobs: Iterator[Job] = schedule.jobs()
        self._ahead: deque[tuple[Job, str]] = deque()
        self._more: asyncio.Handle | None = None
        self._done: asyncio.Future[None] | None = None

    async def run(self) -> None:
        self._done = asyncio.get_running_loop().create_future()
        self._alarm = self._make_alarm(self._wake)
        self._advance()
        try:
            self._wake()
            await self._done
        finally:
            self._silence()
        # The schedule lasts beyond its last instant: rates are over all of it.
        await asyncio.sleep(max(0.0, self._duration - self._now()))

    def ended(self, job: Job, at: float, *, success: bool) -> None:
        """Nothing waits for an answer in an open loop."""

    def stop(self, at: float) -> list[Job]:
        self._silence()
        jobs = chain([job for job, _ in self._ahead], self._jobs)
        self._ahead.clear()
        return list(takewhile(lambda job: job.intended_at <= at, jobs))

    def _silence(self) -> None:
        """Wake no more."""
        if self._alarm is not None:
            self._alarm.stop()
            self._alarm = None
        if self._more is not None:
            self._more.cancel()

    def _wake(self) -> None:
        for _ in range(_BATCH):
            if not self._ahead:
                break
            wait = self._ahead[0][0].intended_at - self._now()
            if wait > 0:
                if self._alarm is not None:
                    self._alarm.set(wait)
                return
            self._launch(*self._ahead.popleft())
            self._advance()
        if self._ahead:
            self._more = asyncio.get_running_loop().call_soon(self._wake)
        elif self._done is not None and not self._done.done():
            self._done.set_result(None)

    def _advance(self) -> None:
        """Take the next requests, and write their prompts while there is time.

        A few at once: what writes them is then in the processor's caches but for the first.
        """
        if self._ahead:
            return
        words = 0
        for job in islice(self._jobs, _WRITTEN):
            hopeless = self._now() - job.intended_at > DROP_AFTER
            self._ahead.append((job, "" if hopeless else self._prompt(job)))
            words += job.shape.prompt_tokens
            if words > _WORDS:
                return


class ClosedPacer:
    def __init__(self, schedule: Schedule, process: ClosedLoop, launch: Launch, now: Now) -> None:
        self._schedule = schedule
        self._process = process
        self._launch = launch
        self._now = now
        self._turn = 0
        self._ahead: deque[tuple[int, Shape, str]] = deque()
        self._timers: dict[int, asyncio.Handle] = {}
        self._over = False

    async def run(self) -> None:
        # All slots are due at once when the run begins; their words are written before it does.
        for slot in range(self._schedule.slots):
            self._prepare()
            self._due(slot, 0.0)
        await asyncio.sleep(max(0.0, self._schedule.duration - self._now()))
        self._over = True

    def ended(self, job: Job, at: float, *, success: bool) -> None:
        self._due(job.index, at + self._process.pause(success=success))

    def stop(self, at: float) -> list[Job]:  # noqa: ARG002
        """A slot whose turn had not come yet has offered nothing."""
        self._over = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        return []

    def _due(self, key: int, at: float) -> None:
        """One slot's next request is due ``at``; ``key`` only tells the slots' timers apart."""
        if self._over or at >= self._schedule.duration:
            return
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(max(0.0, at - self._now()), self._start, key, at)

    def _start(self, key: int, at: float) -> None:
        if (wait := at - self._now()) > 0:
            self._timers[key] = asyncio.get_running_loop().call_later(wait, self._start, key, at)
            return
        del self._timers[key]
        if not self._ahead:
            self._prepare()
        index, shape, prompt = self._ahead.popleft()
        self._launch(Job(index, at, shape), prompt)
        asyncio.get_running_loop().call_soon(self._prepare)

    def _prepare(self) -> None:
        """Draw the next request and write its prompt, while there is time."""
        index = self._schedule.index(self._turn)
        self._turn += 1
        shape = self._schedule.shape(index)
        self._ahead.append((index, shape, self._schedule.prompt(Job(index, 0.0, shape))))

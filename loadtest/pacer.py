"""Start each request at its intended time: never early, never re-anchored.

The open-loop pacer arms one timer at a time, for the next instant of an absolute schedule. Late
requests are started at once and keep their intended time, so lateness shows as send lag and a
stall of the client can't lower the load it claims. The closed-loop pacer owns slots.

What an open loop sends is prepared ahead. Those that are due together all leave before anything is
noted of them, and ``look`` lets them leave between two pieces of other work: else those due while
an answer is summed up would leave in a clump behind it, and no longer be Poisson arrivals.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, takewhile
from typing import Protocol

from loadtest.alarm import Alarm, LoopAlarm, MakeAlarm
from loadtest.arrivals.base import ClosedLoop
from loadtest.departure import Departure
from loadtest.schedule import Job, Schedule
from loadtest.workloads.base import Shape

DROP_AFTER = 1.0
"""Seconds late, for the client's own cause, after which a request is not worth sending."""
_BATCH = 64
"""Overdue requests started before the event loop gets a turn."""
_FEW, _WRITTEN = 4, 8
_WORDS = 2_000
"""Prompts written ahead: so few that more are written, so many at most, and their tokens, behind
which no further one is begun."""

Now = Callable[[], float]


class Launcher(Protocol):
    """Who sends: each request is prepared, departs when it is due, and is launched right after."""

    def prepare(self, job: Job, prompt: str) -> Departure:
        """Do what can be done ahead of its time."""
        ...

    def depart(self, departure: Departure) -> None:
        """Send it, if that takes no waiting: what counts is how quick this is."""
        ...

    def launch(self, departure: Departure) -> None:
        """Do all the rest."""
        ...


class Pacer(Protocol):
    """Launches the requests of one schedule; times are seconds from its start."""

    async def run(self) -> None:
        """Return when nothing more will be launched."""
        ...

    def ended(self, job: Job, at: float, *, success: bool) -> None:
        """A launched request was resolved."""
        ...

    def look(self) -> None:
        """Between two pieces of other work: start what is due by now."""
        ...

    def stop(self, at: float) -> list[Job]:
        """Launch nothing more. What was due by ``at`` and never launched."""
        ...


def pacer(schedule: Schedule, launcher: Launcher, now: Now, alarm: MakeAlarm = LoopAlarm) -> Pacer:
    """The pacer that fits the schedule's process; an open loop is woken by an alarm."""
    loop = schedule.closed_loop
    if loop:
        return ClosedPacer(schedule, loop, launcher, now)
    return OpenPacer(schedule, launcher, now, alarm)


class OpenPacer:
    def __init__(
        self, schedule: Schedule, launcher: Launcher, now: Now, alarm: MakeAlarm = LoopAlarm
    ) -> None:
        self._make_alarm = alarm
        self._alarm: Alarm | None = None
        self._duration = schedule.duration
        self._prompt = schedule.prompt
        self._launcher = launcher
        self._now = now
        self._jobs: Iterator[Job] = schedule.jobs()
        self._ahead: deque[tuple[Job, Departure]] = deque()
        self._due_at = math.inf
        """When ``look`` finds something; never, while it would be in the midst of itself."""
        self._more: asyncio.Handle | None = None
        self._writing: asyncio.Handle | None = None
        self._done: asyncio.Future[None] | None = None

    async def run(self) -> None:
        self._done = asyncio.get_running_loop().create_future()
        self._alarm = self._make_alarm(self._wake)
        self._write()
        try:
            self._wake()
            await self._done
        finally:
            self._silence()
        # The schedule lasts beyond its last instant: rates are over all of it.
        await asyncio.sleep(max(0.0, self._duration - self._now()))

    def ended(self, job: Job, at: float, *, success: bool) -> None:
        """Nothing waits for an answer in an open loop."""

    def look(self) -> None:
        if self._now() >= self._due_at:
            self._wake()

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
        for handle in (self._more, self._writing):
            if handle is not None:
                handle.cancel()
        self._due_at = math.inf

    def _wake(self) -> None:
        self._due_at = math.inf
        left = _BATCH
        while left and (departed := self._departed(left)):
            for each in departed:
                self._launcher.launch(each)
            left -= len(departed)
        self._go_on()
        if left < _BATCH and len(self._ahead) <= _FEW and self._writing is None:
            self._writing = asyncio.get_running_loop().call_soon(self._write)

    def _departed(self, most: int) -> list[Departure]:
        """Those that are due have left."""
        ahead, departed = self._ahead, list[Departure]()
        while ahead and len(departed) < most and ahead[0][0].intended_at <= self._now():
            _, departure = ahead.popleft()
            self._launcher.depart(departure)
            departed.append(departure)
            if not ahead:
                self._prepare_next()
        return departed

    def _go_on(self) -> None:
        """Be woken for the next one."""
        ahead = self._ahead
        if not ahead:
            if self._done is not None and not self._done.done():
                self._done.set_result(None)
            return
        due_at = ahead[0][0].intended_at
        wait = due_at - self._now()
        if wait <= 0:  # behind: other work first, and no look until then
            self._more = asyncio.get_running_loop().call_soon(self._wake)
            return
        self._due_at = due_at
        if self._alarm is not None:
            self._alarm.set(wait)

    def _write(self) -> None:
        """Prepare the next requests.

        A few at once: what writes them is then in the processor's caches but for the first.
        """
        self._writing = None
        words = sum(job.shape.prompt_tokens for job, _ in self._ahead)
        while len(self._ahead) < _WRITTEN and words <= _WORDS and self._prepare_next():
            words += self._ahead[-1][0].shape.prompt_tokens
            self.look()

    def _prepare_next(self) -> bool:
        """False when there are no more."""
        job = next(self._jobs, None)
        if job is None:
            return False
        hopeless = self._now() - job.intended_at > DROP_AFTER
        prompt = "" if hopeless else self._prompt(job)
        self._ahead.append((job, self._launcher.prepare(job, prompt)))
        return True


class ClosedPacer:
    def __init__(
        self, schedule: Schedule, process: ClosedLoop, launcher: Launcher, now: Now
    ) -> None:
        self._schedule = schedule
        self._process = process
        self._launcher = launcher
        self._now = now
        self._turn = 0
        self._ahead: deque[tuple[int, Shape, str]] = deque()
        self._timers: dict[int, asyncio.Handle] = {}
        self._over = False

    async def run(self) -> None:
        # All slots are due at once when the run begins; their words are written before it does.
        for slot in range(self._schedule.slots):
            self._prepare()
            self._due(-1 - slot, 0.0)  # no request's index: one may end before the last slot began
        await asyncio.sleep(max(0.0, self._schedule.duration - self._now()))
        self._over = True

    def ended(self, job: Job, at: float, *, success: bool) -> None:
        self._due(job.index, at + self._process.pause(success=success))

    def look(self) -> None:
        """Each slot has a timer of its own."""

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
        departure = self._launcher.prepare(Job(index, at, shape), prompt)
        self._launcher.depart(departure)
        self._launcher.launch(departure)
        asyncio.get_running_loop().call_soon(self._prepare)

    def _prepare(self) -> None:
        """Draw the next request and write its prompt, while there is time."""
        index = self._schedule.index(self._turn)
        self._turn += 1
        shape = self._schedule.shape(index)
        self._ahead.append((index, shape, self._schedule.prompt(Job(index, 0.0, shape))))

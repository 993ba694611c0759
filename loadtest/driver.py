"""The driver: each request at its intended time, through the policy's door, to the engine.

A failed request is data. Every request that was offered ends in exactly one sample: answered,
refused by the policy (shed), given up by the user (cancelled), still open at the drain deadline
(unfinished), or more than a second late for a cause of our own (dropped). The driver keeps nothing
of a request once its sample is handed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypedDict

from engines.answer import Answer
from engines.outcomes import RETRIED
from engines.request import CompletionRequest, Timeouts
from engines.transport.patient_timeout import GRACE, LATE
from loadtest.alarm import LoopAlarm, MakeAlarm
from loadtest.behaviour import Behaviour
from loadtest.departure import Call, Departure
from loadtest.door import Door
from loadtest.inflight import Flight
from loadtest.pacer import DROP_AFTER, pacer
from loadtest.runclock import RunClock
from loadtest.schedule import Job, Schedule
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.window import WindowFold
from schedulers.concurrency.base import OutcomeKind
from schedulers.runtime.admission import Shed
from schedulers.runtime.retrying import Failed, Retrier

KINDS: Mapping[Outcome, OutcomeKind] = {
    Outcome.OK: OutcomeKind.OK,
    Outcome.TRUNCATED: OutcomeKind.OK,
    Outcome.REJECTED_429: OutcomeKind.REJECTED,
    Outcome.REJECTED_503: OutcomeKind.REJECTED,
    Outcome.TIMEOUT_FIRST_TOKEN: OutcomeKind.TIMED_OUT,
    Outcome.TIMEOUT_IDLE: OutcomeKind.TIMED_OUT,
    Outcome.TIMEOUT_TOTAL: OutcomeKind.TIMED_OUT,
}
"""What an outcome says about load; those that are not here failed for other causes."""
_GIVE_UP_WITHIN = 0.5
"""Seconds that closing every open request may take before its sample is written without it."""


class Client(Protocol):
    """The part of ``engines.client.EngineClient`` that load needs."""

    async def complete(
        self,
        request: CompletionRequest,
        timeouts: Timeouts,
        *,
        on_sent: Callable[[float], None] | None = None,
        on_tokens: Callable[[Sequence[float], Sequence[int]], None] | None = None,
        on_answer: Callable[[float], None] | None = None,
    ) -> Answer: ...


class _Heard(TypedDict):
    on_sent: Callable[[float], None]
    on_tokens: Callable[[Sequence[float], Sequence[int]], None]
    on_answer: Callable[[float], None]


class MakeCall(Protocol):
    """``engines.client.EngineClient.call``: as ``complete``, but nothing is sent yet."""

    def __call__(
        self,
        request: CompletionRequest,
        timeouts: Timeouts,
        *,
        on_sent: Callable[[float], None] | None = None,
        on_tokens: Callable[[Sequence[float], Sequence[int]], None] | None = None,
        on_answer: Callable[[float], None] | None = None,
    ) -> Call: ...


@dataclass(frozen=True, slots=True)
class Means:
    """What a driver works with, all handed in."""

    client: Client
    door: Door | None
    """What the policy holds requests back by; None: nothing."""
    fold: WindowFold
    sink: Callable[[Sample], None]
    clock: RunClock
    timeouts: Timeouts
    behaviour: Behaviour | None = None
    retrier: Retrier | None = None
    """The policy's retry law. Where there is one, it decides instead of the clients' behaviour."""
    alarm: MakeAlarm = LoopAlarm
    """What wakes the pacer of an open loop."""
    ahead: MakeCall | None = None
    """What makes the client's calls ahead of their time; None: each is made when it is due."""


class Driver:
    """Run one slice of one schedule. Times handed on are seconds from the schedule's start."""

    def __init__(self, schedule: Schedule, means: Means, *, drain: float) -> None:
        self._means = means
        self._now = means.clock
        self._deadline = schedule.duration + drain
        self._pacer = pacer(schedule, self, means.clock, means.alarm)
        self._undecided: set[Departure] = set()
        """Due, and the policy has not been asked yet: nobody may go before them."""
        self._flights: dict[Flight, asyncio.Task[None]] = {}
        self._stop = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._fault: BaseException | None = None
        self.offered = 0
        self.in_flight = 0
        self.closed_at = 0.0
        """When it stopped offering and waiting."""

    @property
    def cancelled(self) -> bool:
        """Whether somebody stopped it."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Send nothing more and give up what is open, at once."""
        self._stop.set()

    async def run(self) -> None:
        """Offer the whole slice, wait for its answers up to the drain deadline."""
        offering = asyncio.ensure_future(self._pacer.run())
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await self._until(offering, stopped)
            if offering.done() and not self._stop.is_set():
                offering.result()
                await self._until(asyncio.ensure_future(self._idle.wait()), stopped)
            await self._close()
        finally:
            offering.cancel()
            stopped.cancel()
        if self._fault is not None:
            raise self._fault

    async def _until(self, event: asyncio.Future[Any], stopped: asyncio.Future[Any]) -> None:
        left = max(0.0, self._deadline - self._now())
        await asyncio.wait({event, stopped}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if not (event.done() or stopped.done()) and self._now() - self._deadline > LATE:
            # This process stood still: what came meanwhile is read before anything is given up.
            await asyncio.wait({event, stopped}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
        if not event.done() and event is not stopped:
            event.cancel()

    async def _close(self) -> None:
        """Give up everything that is still open, so that each offered request has its sample."""
        ending = Outcome.CANCELLED if self._stop.is_set() else Outcome.UNFINISHED
        self.closed_at = self._now()
        overdue = self._pacer.stop(self.closed_at)
        open_now = dict(self._flights)
        for flight, task in open_now.items():
            flight.ending = ending
            task.cancel()
        if open_now:
            await asyncio.wait(open_now.values(), timeout=_GIVE_UP_WITHIN)
        for flight in list(self._flights):
            self._resolve(flight, flight.given_up(ending, self._now()))
        for job in overdue:
            self._offer(job)
            flight = Flight(job)
            late = ending is Outcome.UNFINISHED
            outcome = Outcome.DROPPED if late else ending
            self._hand_on(flight.given_up(outcome, self._now()))

    def _offer(self, job: Job) -> None:
        self.offered += 1
        self._means.fold.offered(job.index, job.shape.tenant, job.intended_at)

    def look(self) -> None:
        """Between two pieces of other work: send what is due by now."""
        self._pacer.look()

    def prepare(self, job: Job, prompt: str) -> Departure:
        """Do what can be done of a request before it is due."""
        flight, shape, ahead = Flight(job), job.shape, self._means.ahead
        request = CompletionRequest(prompt, shape.output_tokens, tenant=shape.tenant)
        departure = Departure(flight, request)
        if ahead is not None and prompt:
            with suppress(Exception):  # raised anew when it is due, where it ends the run
                departure.call = ahead(request, self._means.timeouts, **self._heard(departure))
        return departure

    def depart(self, departure: Departure) -> None:
        """Have the policy decide, and send, if neither takes waiting."""
        call = departure.call
        if call is None or self._now() - departure.flight.job.intended_at > DROP_AFTER:
            return
        try:
            self._depart(departure, call)
        except Exception as error:  # noqa: BLE001 - a fault of our own ends the run
            self._ends(error)

    def _depart(self, departure: Departure, call: Call) -> None:
        flight, door = departure.flight, self._means.door
        self._hand(departure)
        if departure.refused is not None:
            return
        if door is not None:
            departure.entry = None if self._undecided else door.enter_now()
            if departure.entry is None:
                self._undecided.add(departure)
                return
        flight.admitted_at = flight.handed_at
        departure.begun = call.begin()

    def launch(self, departure: Departure) -> None:
        """See it through, be it sent yet or not."""
        flight = departure.flight
        self._offer(flight.job)
        if flight.handed_at is None and self._now() - flight.job.intended_at > DROP_AFTER:
            self._finish(flight, flight.given_up(Outcome.DROPPED, self._now()))
            return
        if departure.begun:
            self._count(+1)
        self._idle.clear()
        task = asyncio.get_running_loop().create_task(self._fly(departure))
        self._flights[flight] = task
        task.add_done_callback(partial(self._landed, departure))
        self._expect_leaving(flight, task)

    def _expect_leaving(self, flight: Flight, task: asyncio.Task[None]) -> None:
        """Some clients go away before they have their answer, be it sent yet or held."""
        behaviour, job = self._means.behaviour, flight.job
        at = behaviour.leaves_at(job.index, job.intended_at) if behaviour else None
        if at is None:
            return
        wait = max(0.0, at - self._now())
        leaving = asyncio.get_running_loop().call_later(wait, self._leave, flight)
        task.add_done_callback(lambda _: leaving.cancel())

    def _leave(self, flight: Flight) -> None:
        if flight in self._flights and flight.ending is None:
            flight.ending = Outcome.CANCELLED
            self._flights[flight].cancel()

    def _landed(self, departure: Departure, task: asyncio.Task[None]) -> None:
        """A fault of our own ends the run; it is never counted as the engine's."""
        if task.cancelled():
            self._never_flew(departure)
        elif (fault := task.exception()) is not None:
            self._ends(fault)

    def _ends(self, fault: BaseException) -> None:
        self._fault = self._fault or fault
        self._stop.set()

    def _never_flew(self, departure: Departure) -> None:
        """Given up before its task had its first turn: what it holds is given back here."""
        flight = departure.flight
        self._undecided.discard(departure)
        if departure.begun and departure.call is not None:
            departure.call.abandon()
            self._count(-1)
        if departure.entry is not None and self._means.door is not None:
            self._means.door.leave(departure.entry, OutcomeKind.CANCELLED, None)
        self._resolve(flight, flight.given_up(flight.ending or Outcome.CANCELLED, self._now()))

    async def _fly(self, departure: Departure) -> None:
        flight = departure.flight
        try:
            sample = flight.whole(await self._tried(departure))
        except asyncio.CancelledError:
            sample = flight.given_up(flight.ending or Outcome.CANCELLED, self._now())
        self._resolve(flight, sample)

    def _hand(self, departure: Departure) -> None:
        """To the policy, whose retry law may refuse it before anybody is asked."""
        departure.flight.handed_at = self._now()
        retrier = self._means.retrier
        departure.refused = retrier.offered() if retrier is not None else None

    async def _tried(self, departure: Departure) -> Sample:
        """One attempt, or as many as its client makes before the drain deadline."""
        flight, wait = departure.flight, None
        if flight.handed_at is None:
            self._hand(departure)
        if departure.refused is not None:
            return flight.shed(self._now(), departure.refused.meaning, None)
        while True:
            try:
                sample = await self._held(departure)
            except Shed as shed:  # final: to ask our own admission again is no retry
                return flight.shed(self._now(), shed.reason.meaning, shed.retry_after_s)
            wait = self._again_after(flight, sample, wait)
            if wait is None or self._now() + wait >= self._deadline:
                return sample
            flight.failed(sample)
            await asyncio.sleep(wait)

    def _again_after(self, flight: Flight, sample: Sample, before: float | None) -> float | None:
        """Seconds until it is sent again, by the policy's law, else as its client behaves."""
        behaviour, retrier = self._means.behaviour, self._means.retrier
        attempts = len(flight.attempts) + 1
        if retrier is None:
            return behaviour.again_after(sample, attempts) if behaviour else None
        if sample.outcome.success:
            retrier.succeeded()
            return None
        failed = Failed(
            kind=KINDS.get(sample.outcome, OutcomeKind.FAILED),
            retry_after=sample.retry_after,
            safe=sample.outcome in RETRIED and not flight.chunks,
        )
        return retrier.again_after(
            failed, attempts, previous_wait=before, deadline_at=self._deadline
        )

    async def _held(self, departure: Departure) -> Sample:
        """Through the policy's door, whose laws learn how the attempt ended."""
        door, flight = self._means.door, departure.flight
        if door is None:
            flight.admitted_at = flight.handed_at
            return await self._send(departure)
        if departure.entry is None:
            self._undecided.discard(departure)
            departure.entry = await door.enter(flight.job, len(flight.attempts) + 1)
        if flight.admitted_at is None:
            flight.admitted_at = self._now()
        kind, sample = OutcomeKind.CANCELLED, None
        try:
            sample = await self._send(departure)
            kind = KINDS.get(sample.outcome, OutcomeKind.FAILED)
            return sample
        finally:
            entry, departure.entry = departure.entry, None
            door.leave(entry, kind, sample)

    async def _send(self, departure: Departure) -> Sample:
        means, call, begun = self._means, departure.call, departure.begun
        departure.call, departure.begun = None, False
        if not begun:
            self._count(+1)
        try:
            if call is not None:
                answer = await call.answer()
            else:
                heard = self._heard(departure)
                answer = await means.client.complete(departure.request, means.timeouts, **heard)
        finally:
            self._count(-1)
        self.look()
        sample = departure.flight.answered(answer, means.clock.since)
        self.look()
        return sample

    def _heard(self, departure: Departure) -> _Heard:
        """What the client calls as the answer comes."""
        means, fold, since = self._means, self._means.fold, self._means.clock.since
        flight, door = departure.flight, means.door

        def on_sent(at: float) -> None:
            if flight.sent(since(at)):
                fold.sent(since(at))

        def on_tokens(ats: Sequence[float], counts: Sequence[int]) -> None:
            origin = means.clock.origin
            times = [at - origin for at in ats]
            first = not flight.times
            flight.received(times, counts)
            if first and flight.tried_at is not None and door is not None:
                door.first_token(departure.entry, times[0] - flight.tried_at)
            fold.all_tokens(times, counts)
            self._pacer.look()

        def on_answer(at: float) -> None:
            flight.first_answer_at = since(at)

        return {"on_sent": on_sent, "on_tokens": on_tokens, "on_answer": on_answer}

    def _count(self, change: int) -> None:
        self.in_flight += change
        self._means.fold.in_flight(self._now(), self.in_flight)

    def _resolve(self, flight: Flight, sample: Sample) -> None:
        if self._flights.pop(flight, None) is None:
            return
        self._finish(flight, sample)
        if not self._flights:
            self._idle.set()
        self.look()

    def _finish(self, flight: Flight, sample: Sample) -> None:
        self._hand_on(sample)
        at = sample.done_at if sample.done_at is not None else self._now()
        self._pacer.ended(flight.job, at, success=sample.outcome.success)

    def _hand_on(self, sample: Sample) -> None:
        self._means.fold.resolved(sample)
        self._means.sink(sample)

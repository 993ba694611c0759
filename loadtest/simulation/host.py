"""The virtual load test: the clock jumps between arrivals, steps of the engine and deadlines."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from loadtest.driver import KINDS
from loadtest.roster import Roster
from loadtest.scenario import Limits
from loadtest.schedule import Job
from loadtest.simulation.clients import Clients
from loadtest.simulation.feed import Feed
from loadtest.simulation.flight import Flight
from loadtest.simulation.watching import Watching
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.window import WindowFold
from schedulers.concurrency.base import OutcomeKind
from schedulers.runtime.limiter import Permit
from simulator.core.engine import Engine, QueueFull
from simulator.core.request import Request
from simulator.core.step import Stretch

_LOOK_EVERY = 64
"""Events between two looks at whether to go on."""


class Door(Protocol):
    """What stands before the engine; names are indices of the schedule."""

    @property
    def rings_at(self) -> float:
        """When it must be rung, if nothing happens before."""
        ...

    def acquire(self, name: int, now: float) -> None:
        """One comes: it is let go at once, or waits, or is sent away."""
        ...

    def first_token(self, name: int, permit: Permit, now: float, ttft: float) -> None:
        """Its answer has begun, ``ttft`` seconds after it was sent; laws learn, others may go."""
        ...

    def leave(self, name: int, now: float) -> None:
        """Who waited doesn't any more."""
        ...

    def release(self, permit: Permit, now: float, kind: OutcomeKind, sample: Sample) -> None:
        """A request is over; others may go."""
        ...

    def ring(self, now: float) -> None:
        """The time has come that ``rings_at`` named."""
        ...


@dataclass(frozen=True, slots=True)
class Means:
    """What a simulation works with, all handed in."""

    engine: Engine
    """It keeps the times of its steps."""
    feed: Feed
    fold: WindowFold
    sink: Callable[[Sample], None]
    timeouts: Limits
    roster: Roster | None = None
    """What laws may know of the requests; None where none asks."""


class Simulation:
    """One run. ``deadline`` is where nothing is waited for any more, in seconds from the start."""

    def __init__(self, means: Means, *, deadline: float) -> None:
        self._means = means
        self._deadline = deadline
        self._flights: dict[int, Flight] = {}
        self._deadlines: list[tuple[float, int, Flight]] = []
        self._watching = Watching(means.engine, means.fold, deadline)
        self._running: Stretch | None = None
        """Steps that the engine is at: computed, but not over yet."""
        self._granted: deque[Flight] = deque()
        self._closing = False
        self.limiter: Door | None = None
        """Set before ``run``; None: nothing is held back."""
        self.clients: Clients | None = None
        """Set before ``run``; None: nobody comes again, and nobody leaves."""
        self.offered = 0
        self.in_flight = 0
        self.now = 0.0

    def run(self, duration: float, going: Callable[[float], bool] = lambda _now: True) -> None:
        """Offer everything, and wait for the answers up to the deadline.

        ``going`` hears now and then how far it has come, and stops it with False: what is open
        then was cancelled by us.
        """
        turns = 0
        while True:
            turns += 1
            if turns % _LOOK_EVERY == 0:
                self._idle(self.now)
                if not going(self.now):
                    self._close(Outcome.CANCELLED)
                    return
            event = min(
                self._means.feed.due, self._timeout_at(), self._clients_at(), self._ring_at()
            )
            step = self._step_at()
            if min(event, step) > self._deadline or (event == step == math.inf):
                break
            self.now = min(event, step)
            if event <= step:
                self._happen()
            elif self._running is None:
                self._idle(step)
                until = min(event, self._watching.edge(step))
                self._running = self._means.engine.advance(step, until)
                self._watching.tokens(self._running)
            else:
                self._ended(self._running)
            while self._granted:  # one after the other: a refusal lets the next one go
                self._send(self._granted.popleft())
        self.now = self._deadline if self._flights else max(duration, self.now)
        self._idle(self.now)
        self._close(Outcome.UNFINISHED)

    def grant(self, index: int, permit: Permit) -> None:
        """The policy lets a request go."""
        flight = self._flights[index]
        flight.permit = permit
        self._granted.append(flight)

    def shed(self, index: int, error: str, retry_after: float) -> None:
        """The policy sends a request away."""
        flight = self._flights[index]
        self._end(flight, flight.shed(self.now, error, retry_after))

    def _happen(self) -> None:
        if self._means.feed.due <= self.now:
            self._offer(self._means.feed.take())
        elif self._timeout_at() <= self.now:
            self._time_out()
        elif self.clients is not None and self.clients.due <= self.now:
            self._move(*self.clients.take())
        elif self.limiter is not None:
            self.limiter.ring(self.now)

    def _offer(self, job: Job) -> None:
        self.offered += 1
        self._means.fold.offered(job.index, job.shape.tenant, job.intended_at)
        flight = self._flights[job.index] = Flight(job, self.now)
        refused = self.clients.offered(flight) if self.clients is not None else None
        if refused is None:
            self._enter(flight)
        else:
            self._finish(flight, flight.shed(self.now, refused.meaning, None))

    def _enter(self, flight: Flight) -> None:
        """An attempt comes to the policy's door."""
        flight.waits = False
        if self._means.roster is not None:
            self._means.roster.enter(flight.job, self.now, len(flight.attempts) + 1)
        if self.limiter is None:
            self._send(flight)
        else:
            self.limiter.acquire(flight.job.index, self.now)

    def _move(self, flight: Flight, leaves: bool) -> None:  # noqa: FBT001 - as ``take`` has it
        """A client comes again, or goes away."""
        if not leaves:
            self._enter(flight)
            return
        self._end(flight, self._given_up(flight, Outcome.CANCELLED, self.now))

    def _given_up(self, flight: Flight, outcome: Outcome, at: float) -> Sample:
        """Its client has gone, be it sent yet or not: the engine forgets it."""
        sequence = flight.sequence
        if sequence is not None:
            self._watching.unheard(sequence, at)
            self._means.engine.abort(sequence.request.id)
        return flight.given_up(outcome, at, self._watching.ends)

    def _send(self, flight: Flight) -> None:
        means, job = self._means, flight.job
        if flight.sent(self.now):
            means.fold.sent(self.now)
        self._count(+1)
        if means.roster is not None:
            means.roster.sent(self.now)
        shape, longest = job.shape, means.engine.config.max_model_len
        if shape.prompt_tokens + shape.output_tokens > longest:
            error = f"longer than the model's context of {longest} tokens"
            self._resolve(flight, flight.refused(Outcome.HTTP_4XX, 400, error))
            return
        request = Request(
            str(job.index),
            shape.prompt_tokens,
            shape.output_tokens,
            means.feed.content(job.index),
            tenant=shape.tenant,
        )
        try:
            flight.sequence = means.engine.add(request, self.now)
        except QueueFull as full:
            error = f"The engine is full: {full}."
            self._resolve(flight, flight.refused(Outcome.REJECTED_503, 503, error))
            return
        limits = means.timeouts
        self._arm(flight, self.now + min(limits.first_token_s, limits.total_s))

    def _arm(self, flight: Flight, at: float) -> None:
        heapq.heappush(self._deadlines, (at, flight.job.index, flight))

    def _timeout_at(self) -> float:
        waiting = self._deadlines
        while waiting and waiting[0][1] not in self._flights:
            heapq.heappop(waiting)
        return waiting[0][0] if waiting else math.inf

    def _clients_at(self) -> float:
        return math.inf if self.clients is None else self.clients.due

    def _ring_at(self) -> float:
        return math.inf if self.limiter is None else self.limiter.rings_at

    def _time_out(self) -> None:
        at, _, flight = heapq.heappop(self._deadlines)
        sequence, sent = flight.sequence, flight.sent_at
        assert sequence is not None  # noqa: S101 - it was sent
        assert sent is not None  # noqa: S101
        total_at = sent + self._means.timeouts.total_s
        spoke = sequence.first_token_at is not None and sequence.first_token_at <= at
        if spoke and at < total_at:
            self._arm(flight, total_at)
            return
        outcome = Outcome.TIMEOUT_TOTAL if at >= total_at else Outcome.TIMEOUT_FIRST_TOKEN
        self._resolve(flight, self._given_up(flight, outcome, at))

    def _step_at(self) -> float:
        """When the engine's steps end, or the next begins; infinity: it is idle."""
        if self._running is not None:
            return self._running.end
        due = self._means.engine.next_step_at()
        return math.inf if due is None else due

    def _idle(self, until: float) -> None:
        if self._running is None:
            self._watching.idle(until)

    def _ended(self, stretch: Stretch) -> None:
        self._running = None
        self._watching.ended(stretch)
        self._spoken(stretch)
        for sequence in stretch.finished:
            flight = self._flights.get(int(sequence.request.id))
            if flight is not None:  # else its user gave up during its last step
                self._resolve(flight, flight.answered(self._watching.ends))

    def _spoken(self, stretch: Stretch) -> None:
        """The door hears of first tokens; of a preempted one's second prefill it heard before."""
        if self.limiter is None:
            return
        for sequence in stretch.spoke:
            name = int(sequence.request.id)
            flight = self._flights.get(name)
            if flight is None or flight.permit is None or flight.sent_at is None:
                continue
            if sequence.first_token_at == stretch.end:
                ttft = stretch.end - flight.sent_at
                self.limiter.first_token(name, flight.permit, stretch.end, ttft)

    def _count(self, change: int) -> None:
        self.in_flight += change
        self._means.fold.in_flight(self.now, self.in_flight)

    def _resolve(self, flight: Flight, sample: Sample) -> None:
        """An attempt is over, and with it the request unless its client comes again."""
        self._leave(flight, sample)
        clients = self.clients
        if clients is None or self._closing or not clients.comes_again(flight, sample, self.now):
            self._finish(flight, sample)

    def _end(self, flight: Flight, sample: Sample) -> None:
        """The request is over, whatever its client would like."""
        self._leave(flight, sample)
        self._finish(flight, sample)

    def _leave(self, flight: Flight, sample: Sample) -> None:
        """An attempt leaves the engine and the door; whoever waits to come again is at neither."""
        if flight.waits:
            return
        if flight.sent_at is not None:
            self._count(-1)
        if self.limiter is not None:
            self._give_back(flight, sample, self.limiter)
        if self._means.roster is not None:
            self._means.roster.leave(flight.job, sample.service_ttft, self.now)

    def _finish(self, flight: Flight, last: Sample) -> None:
        del self._flights[flight.job.index]
        if self.clients is not None:
            self.clients.over(flight)
        sample = flight.whole(last)
        self._means.sink(sample)
        self._means.fold.resolved(sample)
        if not self._closing:  # nobody asks again
            self._means.feed.ended(flight.job.index, self.now, success=sample.outcome.success)

    def _give_back(self, flight: Flight, sample: Sample, limiter: Door) -> None:
        if self._closing:  # given up by us: it tells nothing about load, and nobody follows
            return
        if flight.permit is None:
            limiter.leave(flight.job.index, self.now)
        else:
            kind = KINDS.get(sample.outcome, OutcomeKind.FAILED)
            if sample.outcome is Outcome.CANCELLED:
                kind = OutcomeKind.CANCELLED
            limiter.release(flight.permit, self.now, kind, sample)

    def _close(self, outcome: Outcome) -> None:
        """Each offered request that is still open has its sample all the same."""
        self._closing = True
        for flight in list(self._flights.values()):
            self._resolve(flight, flight.given_up(outcome, self.now, self._watching.ends))

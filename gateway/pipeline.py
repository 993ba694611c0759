"""One request from end to end: whose it is, where it goes, its turn, its answer, its sample."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from engines.outcomes import RETRIED
from engines.transport.base import Ending
from engines.transport.dial import DialError
from gateway.books import Account, Books
from gateway.config_parts import TenantConfig, UpstreamTimeouts
from gateway.engine import Engine
from gateway.errors import Refusal
from gateway.flight import Flight, Times
from gateway.http.exchange import Exchange
from gateway.lane import Lane, Leaving, Turn
from gateway.routing import Place, Router
from measurement.outcome import Outcome
from measurement.sample import Attempt, Sample
from schedulers.concurrency.base import OutcomeKind
from schedulers.request import Request
from schedulers.runtime.admission import Ticket
from schedulers.runtime.retrying import Failed, Retrier

log = logging.getLogger("headway.gateway")

_KINDS = {
    Outcome.OK: OutcomeKind.OK,
    Outcome.TRUNCATED: OutcomeKind.OK,
    Outcome.REJECTED_429: OutcomeKind.REJECTED,
    Outcome.REJECTED_503: OutcomeKind.REJECTED,
    Outcome.TIMEOUT_FIRST_TOKEN: OutcomeKind.TIMED_OUT,
    Outcome.TIMEOUT_IDLE: OutcomeKind.TIMED_OUT,
    Outcome.TIMEOUT_TOTAL: OutcomeKind.TIMED_OUT,
    Outcome.CANCELLED: OutcomeKind.CANCELLED,
    Outcome.UNFINISHED: OutcomeKind.CANCELLED,
}
_LATE = (Outcome.TIMEOUT_FIRST_TOKEN, Outcome.TIMEOUT_IDLE, Outcome.TIMEOUT_TOTAL)


@dataclass(frozen=True, slots=True)
class Served:
    """One request as measured, and what it counts for."""

    sample: Sample
    place: Place


@dataclass(slots=True, eq=False)
class _Call:
    """One request under way."""

    index: int
    tenant: str
    place: Place
    account: Account
    flight: Flight
    owner: TenantConfig
    outcome: Outcome = Outcome.CANCELLED
    sample: Sample | None = None
    attempts: list[Attempt] = field(default_factory=list)
    """Those that failed and were followed by another."""
    sent_at: float | None = None
    """When the first of them was sent."""

    def whole(self, last: Sample) -> Sample:
        """The request's one sample: sent with its first attempt, answered by its ``last``."""
        if not self.attempts:
            return last
        return replace(last, sent_at=self.sent_at, attempts=tuple(self.attempts))


class Pipeline:
    """Takes exchanges whose tenant is known; every one of them ends in exactly one sample."""

    def __init__(
        self,
        router: Router,
        books: Books,
        clock: Callable[[], float],
        timeouts: Callable[[], UpstreamTimeouts],
    ) -> None:
        self._router = router
        self._books = books
        self._clock = clock
        self._timeouts = timeouts
        self._serial = itertools.count()
        self._flights: set[Flight] = set()
        self._tasks: dict[asyncio.Task[None], _Call] = {}
        self.sink: Callable[[Served], None] | None = None
        """Told of every request that ended."""
        self.ending = Outcome.CANCELLED
        """What a cancelled request becomes; another at the drain's deadline."""

    @property
    def under_way(self) -> int:
        """Requests that have no sample yet."""
        return len(self._tasks)

    def take(self, exchange: Exchange, tenant: TenantConfig) -> None:
        """Serve it in a task of its own, which ends at once when the client goes."""
        at = self._clock()
        place = self._router.place(tenant.name, at)
        index = next(self._serial)
        account = self._books.open(place, tenant.name, index, at)
        flight = Flight(exchange, account, Times(intended_at=at))
        call = _Call(index, tenant.name, place, account, flight, tenant)
        body, lane = exchange.request.body, place.lane
        tokens = lane.lengths.tokens(len(body))
        lane.waits.begin(flight, tenant=tenant.name, body=body, prompt_tokens=tokens)
        task = asyncio.get_running_loop().create_task(self._serve(call))
        self._tasks[task] = call
        task.add_done_callback(self._done)

        def leave() -> None:
            task.cancel()

        exchange.on_gone = leave

    def sweep(self, now: float) -> None:
        """End what takes too long."""
        for flight in list(self._flights):
            flight.overdue(now, self._timeouts())

    async def drain(self, within: float) -> int:
        """Wait for what is under way, then give up the rest; how many that were."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)
        left = list(self._tasks)
        self.ending = Outcome.UNFINISHED
        for task in left:
            self._refuse(self._tasks[task], _draining())
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)
        return len(left)

    def _done(self, task: asyncio.Task[None]) -> None:
        """Whatever became of the task, even one that was cancelled before it began."""
        call = self._tasks.pop(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("a request failed in the gateway itself", exc_info=fault)
            self._refuse(call, Refusal(500, "internal_error", "The gateway failed."))
            call.outcome = Outcome.HTTP_5XX
        if call.sample is None:
            given_up = call.flight.given_up(call.index, call.tenant, call.outcome, self._clock())
            call.sample = call.whole(given_up)
        call.place.lane.waits.end(call.flight)
        self._books.close(call.place, call.account, call.sample)
        if self.sink is not None:
            self.sink(Served(call.sample, call.place))

    async def _serve(self, call: _Call) -> None:
        try:
            call.sample = call.whole(await self._tried(call))
        except asyncio.CancelledError:
            call.outcome = self.ending
        except Refusal as refusal:
            call.outcome = Outcome.SHED if refusal.status == 429 else Outcome.CONNECT
            self._refuse(call, refusal)

    async def _tried(self, call: _Call) -> Sample:
        """One attempt, or as many as the policy's retry law allows before the first byte."""
        retrier, wait = call.place.lane.retrier, None
        if retrier is None:
            return await self._held(call)
        if (refused := retrier.offered()) is not None:
            raise Refusal(429, str(refused), refused.meaning, retry_after=1.0)
        call.flight.may_retry, times = True, call.flight.times
        while True:
            got = await self._once(call)
            if isinstance(got, Sample) and got.outcome.success:
                retrier.succeeded()
                return got
            failed = _attempt(got, self._clock())
            wait = self._again_after(call, retrier, failed, wait)
            if wait is None:
                break
            call.attempts.append(failed)
            call.sent_at = times.sent_at if call.sent_at is None else call.sent_at
            call.flight.again()
            await asyncio.sleep(wait)
        if isinstance(got, Refusal):
            raise got
        call.flight.finish()
        return got

    async def _once(self, call: _Call) -> Sample | Refusal:
        """An attempt's sample, or that no engine could be reached for it."""
        try:
            return await self._held(call)
        except Refusal as refusal:
            if refusal.code != "no_endpoint":
                raise
            return refusal

    def _again_after(
        self, call: _Call, retrier: Retrier, failed: Attempt, before: float | None
    ) -> float | None:
        """Seconds until it goes to an engine again. Never once a client has seen a byte."""
        begun = call.flight.exchange.begun
        return retrier.again_after(
            Failed(
                kind=_KINDS.get(failed.outcome, OutcomeKind.FAILED),
                retry_after=failed.retry_after,
                safe=failed.outcome in RETRIED and not begun,
            ),
            len(call.attempts) + 1,
            previous_wait=before,
            deadline_at=call.flight.times.intended_at + self._timeouts().total_s,
        )

    async def _held(self, call: _Call) -> Sample:
        """Through the lane, which learns how the attempt ended."""
        lane, flight, times = call.place.lane, call.flight, call.flight.times
        depth = lane.waiting
        turn = await lane.enter(call.tenant, self._known(call) if lane.ranks else None)
        if times.admitted_at is None:
            times.admitted_at = self._clock()
        flight.headers = _said(call.place, depth, times.admitted_at - times.intended_at)
        size = len(flight.exchange.request.body)

        def on_first(ttft: float) -> None:
            lane.lengths.first_token(size, ttft, self._clock())
            lane.first_token(turn, ttft)

        flight.on_first = on_first
        leaving = Leaving(OutcomeKind.CANCELLED)
        try:
            ending = await self._upstream(flight, lane)
            sample = flight.sample(call.index, call.tenant, ending)
            leaving = _leaving(sample, turn)
            lane.lengths.counted(size, sample.prompt_tokens)
        finally:
            lane.leave(turn, leaving)
        if ending.outcome is not None and not flight.exchange.begun:
            self._refuse(call, _failed(ending.outcome))
        return sample

    def _known(self, call: _Call) -> Request:
        """What laws may know of it."""
        flight, lane = call.flight, call.place.lane
        body, at = flight.exchange.request.body, flight.times.intended_at
        slo = self._router.config.slo
        return lane.lengths.request(body, call.owner, slo, at, len(call.attempts) + 1)

    async def _upstream(self, flight: Flight, lane: Lane) -> Ending:
        """To an engine that can be reached; another is tried only where nothing was sent."""
        tried: frozenset[Engine] = frozenset()
        while (engine := lane.engine(but=tried)) is not None:
            engine.in_flight += 1
            self._flights.add(flight)
            try:
                ending = await self._exchange(flight, engine)
            except DialError as error:
                log.warning("endpoint %s: %s", engine.config.name, error)
                engine.unreachable()
                tried |= {engine}
            else:
                engine.reached()
                return ending
            finally:
                engine.in_flight -= 1
                self._flights.discard(flight)
        raise lane.unreachable()

    async def _exchange(self, flight: Flight, engine: Engine) -> Ending:
        """Over a connection at rest, or a new one; once more if the resting one was stale."""
        request = engine.request(flight.exchange.request)
        connection = engine.pool.take()
        fresh = connection is None
        if connection is None:
            connection = await engine.pool.dial(self._timeouts().connect_s)
        try:
            flight.send(connection, request)
            ending = await flight.ended
            if not fresh and ending.outcome is Outcome.INCOMPLETE and not connection.answered:
                connection.abort()
                connection = await engine.pool.dial(self._timeouts().connect_s)
                flight.send(connection, request)
                ending = await flight.ended
        except BaseException:
            connection.abort()
            raise
        finally:
            flight.landed(self._clock())
        engine.pool.give_back(connection)
        return ending

    def _refuse(self, call: _Call, refusal: Refusal) -> None:
        """The gateway's own answer, if none has begun."""
        exchange, flight = call.flight.exchange, call.flight
        if exchange.begun or exchange.gone or exchange.over:
            exchange.cut()
            return
        self._books.refusals[refusal.code] += 1
        held = self._clock() - flight.times.intended_at
        said = flight.headers or _said(call.place, call.place.lane.waiting, held)
        headers = [(name.decode(), value.decode()) for name, value in said]
        exchange.respond(refusal.status, refusal.body(), headers=[*headers, *refusal.headers()])


def _attempt(got: Sample | Refusal, now: float) -> Attempt:
    if isinstance(got, Refusal):
        return Attempt(Outcome.CONNECT, done_at=now, retry_after=got.retry_after)
    return Attempt(got.outcome, got.sent_at, got.done_at, got.status, got.retry_after)


def _said(place: Place, depth: int, held: float) -> list[tuple[bytes, bytes]]:
    """What every answer says of the gateway's state."""
    policy = place.policy
    return [
        (b"X-Headway-Policy", f"{policy.name}@{policy.sha256[:12]}".encode()),
        (b"X-Headway-Queue-Depth", b"%d" % depth),
        (b"X-Headway-Queue-Ms", b"%.1f" % (held * 1e3)),
        (b"X-Headway-Pressure", place.lane.pressure.encode()),
    ]


def _draining() -> Refusal:
    message = "The gateway is shutting down; ask another one."
    return Refusal(503, "draining", message, retry_after=1.0)


def _failed(outcome: Outcome) -> Refusal:
    """What to say when an engine broke off before its answer began."""
    if outcome in _LATE:
        return Refusal(504, "upstream_timeout", "The engine did not answer in time.")
    return Refusal(502, "upstream_failed", "The engine closed without an answer.")


def _leaving(sample: Sample, turn: Turn) -> Leaving:
    due = turn.admitted.request.deadline_at if isinstance(turn, Ticket) else None
    first = sample.first_token_at
    return Leaving(
        kind=_KINDS.get(sample.outcome, OutcomeKind.FAILED),
        latency=sample.service_e2e,
        ttft=sample.service_ttft,
        prompt_tokens=sample.prompt_tokens,
        output_tokens=sample.output_tokens,
        retry_after=sample.retry_after,
        late=None if due is None else first is None or first > due,
    )

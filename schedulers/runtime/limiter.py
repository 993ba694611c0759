"""The limiter: the one mutable cell that holds a concurrency law to real concurrency."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind
from schedulers.decision import Decision


@dataclass(slots=True, eq=False)
class Permit:
    """The right to have one request in flight, until it is released."""

    serial: int
    granted_at: float
    in_flight: int
    """Requests in flight at the grant, this one included."""
    released: bool = False
    told: bool = False
    """The law was told of its first token."""


class Observer(Protocol):
    """Sees what the limiter does, and changes nothing: a shadow, say."""

    def granted(self, in_flight: int) -> None:
        """A request was let through; ``in_flight`` counts it."""
        ...

    def observed(self, seen: Observation, now: float, limit: int) -> None:
        """The law has learned from this, and now allows ``limit``."""
        ...


def _nobody() -> int:
    return 0


class Limiter:
    """Lets as many requests through as the law allows, first come first served.

    ``clock`` gives the time that the law sees; ``cost_clock`` what deciding costs; every Decision
    goes to ``on_decision``; ``observers`` see what it does and decide nothing. A lower limit lets
    what is in flight finish; a higher one wakes as many waiters as there is room, and no more. All
    calls belong to one event loop's thread.
    """

    def __init__(
        self,
        law: ConcurrencyLaw[Any],
        clock: Callable[[], float],
        cost_clock: Callable[[], float] | None = None,
        on_decision: Callable[[Decision], None] | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._law = law
        self._clock = clock
        self._cost_clock = cost_clock or clock
        self._on_decision = on_decision
        self._observers = tuple(observers)
        self._state = law.start()
        self._limit = law.limit(self._state)
        self._until = law.until(self._state)
        self._waiters: OrderedDict[asyncio.Future[Permit], None] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._granted = 0
        self.ahead: Callable[[], int] = _nobody
        """How many wait in a queue that a host keeps before it: its law is told of them."""
        self.in_flight = 0
        self.decisions = 0
        """Decisions reported."""
        self.steps = 0
        """Times the law was asked."""
        self.deciding_seconds = 0.0
        """What those times cost, on the cost clock."""

    @property
    def limit(self) -> int:
        """How many may be in flight now."""
        return self._limit

    @property
    def until(self) -> float:
        """Until when the limit holds if nothing ends; infinity when only observations move it."""
        return self._until

    @property
    def waiting(self) -> int:
        """How many wait for a permit."""
        return len(self._waiters)

    @property
    def state(self) -> Any:
        """The law's state: a frozen value."""
        return self._state

    def try_acquire(self) -> Permit | None:
        """A permit at once, or None when full or when others have waited longer."""
        if self._until < math.inf:
            self._keep_time()
        if self._waiters:
            self._wake()  # whoever is left waiting afterwards waits because it is full
        if self.in_flight >= self._limit:
            return None
        return self._grant(self._clock())

    async def acquire(self) -> Permit:
        """A permit, in the order of asking. Cancelled at any point, it leaves nothing behind."""
        permit = self.try_acquire()
        if permit is not None:
            return permit
        waiter: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = None
        self._arm()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release(waiter.result(), outcome_kind=OutcomeKind.CANCELLED)
            else:
                self._waiters.pop(waiter, None)
            raise

    def release(  # noqa: PLR0913 - what a host knows of a finished request
        self,
        permit: Permit,
        *,
        outcome_kind: OutcomeKind = OutcomeKind.OK,
        latency: float | None = None,
        ttft: float | None = None,
        prompt_tokens: int | None = None,
        output_tokens: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        """Give the permit back and let the law learn; ``latency`` defaults to the time held."""
        if permit.released:
            raise RuntimeError(f"permit {permit.serial} was released before")
        permit.released = True
        now = self._clock()
        seen = Observation(
            started_at=permit.granted_at,
            in_flight=self.in_flight,
            kind=outcome_kind,
            latency=now - permit.granted_at if latency is None else latency,
            ttft=ttft,
            waiting=len(self._waiters) + self.ahead(),
            serial=permit.serial,
            granted=self._granted,
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            retry_after=retry_after,
            told=permit.told,
        )
        self.in_flight -= 1
        self._step(seen, now)
        if self._waiters:
            self._wake()

    def first_token(self, permit: Permit, ttft: float | None = None) -> None:
        """Its answer has begun: the law learns now, and not when it ends. The first time counts.

        ``ttft`` in seconds defaults to the time held.
        """
        if permit.released or permit.told:
            return
        permit.told = True
        now = self._clock()
        seen = Observation(
            started_at=permit.granted_at,
            in_flight=self.in_flight,
            kind=OutcomeKind.FIRST_TOKEN,
            ttft=now - permit.granted_at if ttft is None else ttft,
            waiting=len(self._waiters) + self.ahead(),
            serial=permit.serial,
            granted=self._granted,
        )
        self._step(seen, now)
        if self._waiters:
            self._wake()

    def keep_time(self) -> None:
        """For hosts that queue before the limiter: ask the law if its time has come."""
        if self._until < math.inf:
            self._keep_time()
        if self._waiters:
            self._wake()

    def _grant(self, now: float) -> Permit:
        self._granted += 1
        self.in_flight += 1
        for observer in self._observers:
            observer.granted(self.in_flight)
        return Permit(self._granted, now, self.in_flight)

    def _wake(self) -> None:
        """Hand a permit to as many waiters as there is room; those cancelled meanwhile get none."""
        now = self._clock()
        while self._waiters and self.in_flight < self._limit:
            waiter, _ = self._waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_result(self._grant(now))

    def _step(self, seen: Observation, now: float) -> None:
        began = self._cost_clock()
        self._state, decision = self._law.step(self._state, seen, now)
        self._limit = self._law.limit(self._state)
        self._until = self._law.until(self._state)
        self.deciding_seconds += self._cost_clock() - began
        self.steps += 1
        if self._until < math.inf:
            self._arm()
        if decision is not None:
            self.decisions += 1
            if self._on_decision is not None:
                self._on_decision(decision)
        for observer in self._observers:
            observer.observed(seen, now, self._limit)

    def _keep_time(self) -> None:
        """Ask the law again once the time has come until which its answer held."""
        now = self._clock()
        if now >= self._until:
            tick = Observation(started_at=now, in_flight=self.in_flight, kind=OutcomeKind.TICK)
            self._step(tick, now)

    def _arm(self) -> None:
        """While someone waits, wake up when the law's answer ends: nothing else might."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiters and self._until < math.inf:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, self._until - self._clock()), self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._keep_time()
        self._wake()
        self._arm()

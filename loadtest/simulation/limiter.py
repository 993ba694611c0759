"""The limiter in virtual time: what ``schedulers.runtime.limiter`` does, without an event loop.

Waiting is a queue of names instead of futures, and time is told instead of asked. A test holds it
to the other one: the same grants at the same times, and the same observations for the law.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from measurement.sample import Sample
from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind
from schedulers.decision import Decision
from schedulers.runtime.limiter import Permit

Grant = Callable[[int, Permit], None]
"""Told who may go: the name that waited, and its permit."""


def _nobody() -> int:
    return 0


class VirtualLimiter:
    """First come, first served, as many as the law allows."""

    def __init__(
        self,
        law: ConcurrencyLaw[Any],
        grant: Grant,
        on_decision: Callable[[Decision], None],
        cost_clock: Callable[[], float],
    ) -> None:
        self._law = law
        self._tell = grant
        self._on_decision = on_decision
        self._cost_clock = cost_clock
        self._state = law.start()
        self._waiters: OrderedDict[int, None] = OrderedDict()
        self._granted = 0
        self.ahead: Callable[[], int] = _nobody
        """How many wait before it elsewhere."""
        self.limit = law.limit(self._state)
        self.until = law.until(self._state)
        self.in_flight = 0
        self.decisions = 0
        self.steps = 0
        self.deciding_seconds = 0.0

    @property
    def rings_at(self) -> float:
        """When it must be rung, if nothing happens before: somebody waits for an answer's end."""
        return self.until if self._waiters else math.inf

    def acquire(self, name: int, now: float) -> None:
        """Grant at once, or let it wait."""
        self.keep_time(now)
        self._wake(now)
        if self._waiters or self.in_flight >= self.limit:
            self._waiters[name] = None
        else:
            self._grant(name, now)

    def try_acquire(self, now: float) -> Permit | None:
        """A permit at once, or None; for who keeps those that wait elsewhere."""
        self.keep_time(now)
        return self._permit(now) if self.in_flight < self.limit else None

    def leave(self, name: int, now: float) -> None:  # noqa: ARG002 - nobody goes for it
        """Who waited doesn't any more."""
        self._waiters.pop(name, None)

    def release(self, permit: Permit, now: float, kind: OutcomeKind, sample: Sample | None) -> None:
        """A request is over; the law learns, and others may go."""
        latency = sample.service_e2e if sample else None
        seen = Observation(
            started_at=permit.granted_at,
            in_flight=self.in_flight,
            kind=kind,
            latency=now - permit.granted_at if latency is None else latency,
            ttft=sample.service_ttft if sample else None,
            waiting=len(self._waiters) + self.ahead(),
            serial=permit.serial,
            granted=self._granted,
            prompt_tokens=sample.prompt_tokens if sample else None,
            output_tokens=sample.output_tokens if sample else None,
            retry_after=sample.retry_after if sample else None,
            told=permit.told,
        )
        self.in_flight -= 1
        self._step(seen, now)
        self._wake(now)

    def first_token(self, name: int, permit: Permit, now: float, ttft: float) -> None:  # noqa: ARG002
        """Its answer has begun; the law learns, and others may go."""
        permit.told = True
        seen = Observation(
            started_at=permit.granted_at,
            in_flight=self.in_flight,
            kind=OutcomeKind.FIRST_TOKEN,
            ttft=ttft,
            waiting=len(self._waiters) + self.ahead(),
            serial=permit.serial,
            granted=self._granted,
        )
        self._step(seen, now)
        self._wake(now)

    def ring(self, now: float) -> None:
        """The time has come that ``rings_at`` named."""
        self.keep_time(now)
        self._wake(now)

    def keep_time(self, now: float) -> None:
        """Ask the law anew where its answer's time is over."""
        if now >= self.until:
            tick = Observation(started_at=now, in_flight=self.in_flight, kind=OutcomeKind.TICK)
            self._step(tick, now)

    def _step(self, seen: Observation, now: float) -> None:
        began = self._cost_clock()
        self._state, decision = self._law.step(self._state, seen, now)
        self.limit = self._law.limit(self._state)
        self.until = self._law.until(self._state)
        self.deciding_seconds += self._cost_clock() - began
        self.steps += 1
        if decision is not None:
            self.decisions += 1
            self._on_decision(decision)

    def _wake(self, now: float) -> None:
        while self._waiters and self.in_flight < self.limit:
            name, _ = self._waiters.popitem(last=False)
            self._grant(name, now)

    def _grant(self, name: int, now: float) -> None:
        self._tell(name, self._permit(now))

    def _permit(self, now: float) -> Permit:
        self._granted += 1
        self.in_flight += 1
        return Permit(self._granted, now, self.in_flight)

"""Both arms' laws in one lane: each decides in turn, and keeps its state while the other does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from documents.parse import build
from gateway.lane_limiter import LaneLimiter
from loadtest.ab.order import Order
from loadtest.door import Door, LimiterDoor, QueueDoor
from loadtest.roster import Known, Roster
from loadtest.runclock import RunClock
from schedulers.concurrency.base import LIMIT_CEILING, ConcurrencyLaw
from schedulers.concurrency.base import laws as concurrency
from schedulers.decision import Decision, DecisionPoint
from schedulers.document import Policy
from schedulers.retry.base import RetryLaw
from schedulers.retry.base import laws as retry
from schedulers.runtime.admission import QUEUED, AdmissionQueue, Laws
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.retrying import Retrier
from schedulers.signals import Signals

Read = Callable[[], Signals | None]


class LaneLaws:
    """A point that neither arm fills has no cell; one that an arm leaves open holds nothing back
    while that arm decides. ``read`` gives the engine's last reading on the raw clock."""

    def __init__(
        self,
        order: Order,
        first: Policy,
        clock: RunClock,
        keep: Callable[[Decision], None],
        read: Read,
    ) -> None:
        filled = {point for policy in order.policies.values() for point in policy.laws}
        said = Deciding(time.perf_counter, keep)
        draw = np.random.default_rng(order.plan.seed).random
        self.limiter = LaneLimiter(
            first.sha256,
            _concurrency(first),
            clock,
            cost_clock=time.perf_counter,
            on_decision=keep,
        )
        self._queue: AdmissionQueue | None = None
        self.door: Door = LimiterDoor(self.limiter)
        if filled & QUEUED:
            self._queue = AdmissionQueue(
                Laws.of(first),
                self.limiter,
                clock=clock,
                draw=draw,
                signals=lambda: _since(read(), clock),
                said=said,
            )
            known = Known(order.load.tenants, order.load.slo)
            self.door = QueueDoor(self._queue, Roster(known), clock)
        self.retrier: Retrier | None = None
        if DecisionPoint.RETRY in filled:
            self.retrier = Retrier(
                _retry(first),
                sleep=asyncio.sleep,
                clock=clock,
                draw=draw,
                on_decision=said.tell,
                version=first.sha256,
            )

    @property
    def version(self) -> str:
        """Hash of the policy that decides."""
        return self.limiter.version

    def adopt(self, policy: Policy) -> None:
        """From now on this one decides; whoever waits or is in flight stays."""
        self.limiter.adopt(policy.sha256, _concurrency(policy))
        if self._queue is not None:
            self._queue.adopt(Laws.of(policy))
        if self.retrier is not None:
            self.retrier.adopt(policy.sha256, _retry(policy))


def _concurrency(policy: Policy) -> ConcurrencyLaw[object]:
    """A policy that leaves it open holds nobody back."""
    return policy.law("concurrency") or build(concurrency.get("fixed"), {"limit": LIMIT_CEILING})


def _retry(policy: Policy) -> RetryLaw[object]:
    """A policy that leaves it open sends nothing again."""
    return policy.law("retry") or build(retry.get("none"), {})


def _since(seen: Signals | None, clock: RunClock) -> Signals | None:
    return None if seen is None else replace(seen, read_at=clock.since(seen.read_at))

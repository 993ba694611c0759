"""A policy held to one load: its limiter, the queue before it, and who is tried again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadtest.door import Door, LimiterDoor, QueueDoor
from loadtest.roster import Known, Roster
from schedulers.decision import Decision
from schedulers.document import Policy
from schedulers.runtime.admission import QUEUED, AdmissionQueue, Laws
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.limiter import Limiter, Observer
from schedulers.runtime.retrying import Retrier
from schedulers.signals import Signals


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What laws see and are heard by, all handed in. ``clock`` is the run's."""

    clock: Callable[[], float]
    known: Known
    keep: Callable[[Decision], None]
    """Gets every line of the controller trace."""
    signals: Callable[[], Signals | None] = lambda: None
    observers: Sequence[Observer] = ()
    cost_clock: Callable[[], float] = time.perf_counter
    seed: int = 1


class Enforcing:
    """What a policy leaves open has no cell here: nothing is asked and nothing is held back."""

    def __init__(self, policy: Policy, around: Surroundings) -> None:
        law = policy.law("concurrency")
        rng = np.random.default_rng(around.seed)
        self._said = Deciding(around.cost_clock, around.keep)
        self.limiter: Limiter | None = None
        if law is not None:
            self.limiter = Limiter(
                law,
                around.clock,
                cost_clock=around.cost_clock,
                on_decision=around.keep,
                observers=around.observers,
            )
        self.queue: AdmissionQueue | None = None
        if policy.laws.keys() & QUEUED:
            self.queue = AdmissionQueue(
                Laws.of(policy),
                self.limiter,
                clock=around.clock,
                draw=rng.random,
                signals=around.signals,
                said=self._said,
            )
        self.door = self._door(around)
        self.retrier: Retrier | None = None
        retry = policy.law("retry")
        if retry is not None:
            self.retrier = Retrier(
                retry,
                sleep=asyncio.sleep,
                clock=around.clock,
                draw=np.random.default_rng(around.seed).random,
                on_decision=self._said.tell,
            )

    @property
    def waiting(self) -> int:
        """How many wait for a turn."""
        if self.queue is not None:
            return self.queue.waiting
        return self.limiter.waiting if self.limiter is not None else 0

    def told(self) -> Mapping[str, Any]:
        """The summary's counts: what was decided, and what deciding cost."""
        said, limiter = self._said, self.limiter
        return {
            "decisions": said.decisions + (limiter.decisions if limiter else 0),
            "deciding_seconds": said.seconds + (limiter.deciding_seconds if limiter else 0.0),
            "steps": said.steps + (limiter.steps if limiter else 0),
            **({"trace_left_out": said.left_out} if said.left_out else {}),
        }

    def _door(self, around: Surroundings) -> Door | None:
        if self.queue is not None:
            return QueueDoor(self.queue, Roster(around.known), around.clock)
        return LimiterDoor(self.limiter) if self.limiter is not None else None

"""CONCUR: AIMD over agents on KV use and prefix hit rate, with the paper's constants."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from schedulers.concurrency.base import (
    LIMIT_CEILING,
    Observation,
    check_bounds,
    concurrency_law,
    decided,
)
from schedulers.decision import Decision, Reason
from schedulers.law import Fault, Standing


@dataclass(frozen=True, slots=True)
class ConcurState:
    """``due_at``: when the next interval ends; ``rest``: intervals before the next cut may be."""

    limit: float
    due_at: float | None = None
    rest: int = 0


@concurrency_law
@dataclass(frozen=True, slots=True)
class Concur:
    """Every interval, with U the share of KV used and H the prefix hit rate::

        U < u_low                    N ← N + add, if N were active
        U > u_high and H < h_low     N ← N × backoff
        else                         hold

    Counts agents, not requests. The host admits, pauses and resumes between an agent's steps.
    Source: arXiv 2601.22705 (constants second-hand). A pause between cuts, and growth only while N
    are active, are ours.
    """

    name: ClassVar[str] = "concur"
    summary: ClassVar[str] = (
        "The agents paper's law: one more step of agents while the KV cache is nearly empty, a cut "
        "when it is full and prefixes are no longer found."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Between u_low and collapse lies a wide dead band, in which it stays wherever it "
            "began: 342 tok/s from 32 agents where the best fixed count does 468, and once "
            "collapsed it stays so (plant S10)."
        ),
        Fault("Without a host's agent load it stands at its initial limit."),
    )

    min: int = parameter(
        default=1, minimum=1, maximum=LIMIT_CEILING, unit="agents", help="The lowest limit."
    )
    max: int = parameter(
        default=256, minimum=1, maximum=LIMIT_CEILING, unit="agents", help="The highest limit."
    )
    initial: int = parameter(
        default=32,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="agents",
        help="The limit before anything was seen; between min and max.",
    )
    add: float = parameter(
        default=2.0, minimum=0.1, maximum=64.0, unit="agents", help="What an interval adds (α)."
    )
    backoff: float = parameter(
        default=0.5, minimum=0.1, maximum=0.99, help="The factor of a cut (β)."
    )
    u_low: float = parameter(
        default=0.2, minimum=0.0, maximum=1.0, help="KV use under which the limit grows."
    )
    u_high: float = parameter(
        default=0.5, minimum=0.0, maximum=1.0, help="KV use over which it may be cut."
    )
    h_low: float = parameter(
        default=0.2, minimum=0.0, maximum=1.0, help="Hit rate under which it is cut."
    )
    interval_s: float = parameter(
        default=5.0, minimum=0.1, maximum=3600.0, unit="s", help="How often it is asked."
    )
    cooldown: int = parameter(
        default=0, minimum=0, maximum=1000, unit="intervals", help="Pause after a cut."
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)
        if self.u_low > self.u_high:
            message = f"must not be above u_high ({self.u_high})"
            raise DocumentError([Problem("u_low", self.u_low, message)])

    def start(self) -> ConcurState:
        return ConcurState(float(self.initial))

    def step(
        self, state: ConcurState, seen: Observation, now: float
    ) -> tuple[ConcurState, Decision | None]:
        load = seen.agents
        if not seen.in_order(now) or load is None or load.kv_used is None:
            return state, None
        if state.due_at is None:
            return replace(state, due_at=now + self.interval_s), None
        if now < state.due_at or not math.isfinite(load.kv_used):
            return state, None
        limit, hits = state.limit, 1.0 if load.hit_rate is None else load.hit_rate
        after, reason, rest = limit, Reason.STEADY, max(0, state.rest - 1)
        if load.kv_used < self.u_low:
            after = min(float(self.max), limit + self.add)
            reason = Reason.GROWN if after > limit else Reason.AT_MAXIMUM
            if load.active < int(limit):
                after, reason = limit, Reason.APP_LIMITED
        elif load.kv_used > self.u_high and hits < self.h_low and state.rest == 0:
            after = max(float(self.min), limit * self.backoff)
            reason = Reason.HIT_RATE_LOW if after < limit else Reason.AT_MINIMUM
            rest = self.cooldown
        found = ConcurState(after, now + self.interval_s, rest)
        return found, decided(
            self, now, limit, after, reason, kv_used=load.kv_used, hit_rate=load.hit_rate
        )

    def limit(self, state: ConcurState) -> int:
        return int(state.limit)

    def until(self, state: ConcurState) -> float:
        return math.inf if state.due_at is None else state.due_at

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

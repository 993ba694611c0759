"""AIMD: creep up while the limit is reached and all is well, cut once for each overload."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.concurrency.base import (
    LIMIT_CEILING,
    SIGNALS,
    Observation,
    OutcomeKind,
    check_bounds,
    concurrency_law,
    decided,
)
from schedulers.decision import Decision, Reason
from schedulers.law import Fault, Standing


@dataclass(frozen=True, slots=True)
class AimdState:
    """``count`` answers and their ``peak`` in flight since the limit was last looked at."""

    limit: float
    count: int = 0
    peak: int = 0
    cut_at: float | None = None


@concurrency_law
@dataclass(frozen=True, slots=True)
class Aimd:
    """Additive increase, multiplicative decrease, with the two guards that its sketches lack.

    It grows only when the limit was reached within the window, so idle hours earn nothing; and it
    cuts only for requests that started after the last cut, so the twenty refusals of one overload
    are charged once.
    """

    name: ClassVar[str] = "aimd"
    summary: ClassVar[str] = (
        "Grows by a step for each window in which the limit was reached; cuts by a factor, once "
        "for each overload, when the engine refuses or a request takes longer than a time-out."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "It finds the cliff, not the knee: without a time-out it cuts only when refused, and "
            "saws around that point (46 % of the optimum on the congestion plant with backoff "
            "0.5, P99 3.5 s)."
        ),
    )

    min: int = parameter(
        default=1,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The lowest limit.",
    )
    max: int = parameter(
        default=256,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The highest limit.",
    )
    initial: int = parameter(
        default=8,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The limit before anything was seen; between min and max.",
    )
    add: float = parameter(
        default=1.0,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=64.0,
        unit="requests",
        help="How much a window in which the limit was reached adds to it.",
    )
    window: int | None = parameter(
        default=None,
        minimum=1,
        maximum=10_000,
        unit="answers",
        help="Answers in one window; empty: as many as the limit, which is about a round trip.",
    )
    backoff: float = parameter(
        default=0.9,
        minimum=0.1,
        maximum=0.99,
        help="The factor of a cut.",
    )
    timeout_ms: float | None = parameter(
        default=5000.0,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=600_000.0,
        unit="ms",
        help="A latency above this counts as overload; empty: only refusals do.",
    )
    signal: str = parameter(
        default="ttft",
        choices=SIGNALS,
        help="Which latency the time-out is held against.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> AimdState:
        return AimdState(limit=float(self.initial))

    def step(
        self, state: AimdState, seen: Observation, now: float
    ) -> tuple[AimdState, Decision | None]:
        if not seen.in_order(now):
            return state, None
        if seen.kind is OutcomeKind.REJECTED:
            return self._cut(state, seen, now, Reason.REJECTED_BY_ENGINE)
        if seen.kind is OutcomeKind.TIMED_OUT:
            return self._cut(state, seen, now, Reason.TIMED_OUT)
        latency = seen.measured(self.signal)
        if seen.kind is not OutcomeKind.OK or latency is None:
            return state, None
        if self.timeout_ms is not None and latency * 1000.0 > self.timeout_ms:
            return self._cut(state, seen, now, Reason.TIMED_OUT)
        return self._count(state, seen, now)

    def _cut(
        self, state: AimdState, seen: Observation, now: float, reason: Reason
    ) -> tuple[AimdState, Decision | None]:
        if state.cut_at is not None and seen.started_at <= state.cut_at:
            return state, None
        after = max(float(self.min), state.limit * self.backoff)
        return AimdState(limit=after, cut_at=now), decided(
            self,
            now,
            state.limit,
            after,
            reason,
            latency=seen.measured(self.signal),
            in_flight=seen.in_flight,
        )

    def _count(
        self, state: AimdState, seen: Observation, now: float
    ) -> tuple[AimdState, Decision | None]:
        limit, count, peak = state.limit, state.count + 1, max(state.peak, seen.in_flight)
        if count < (self.window or int(limit)):
            return AimdState(limit, count, peak, state.cut_at), None
        after, reason = limit, Reason.APP_LIMITED
        if peak >= int(limit):
            after = min(float(self.max), limit + self.add)
            reason = Reason.GROWN if after > limit else Reason.AT_MAXIMUM
        return AimdState(after, cut_at=state.cut_at), decided(
            self, now, limit, after, reason, peak=peak, answers=count
        )

    def limit(self, state: AimdState) -> int:
        return int(state.limit)

    def until(self, state: AimdState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

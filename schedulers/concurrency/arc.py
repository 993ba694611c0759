"""ARC, Vector's adaptive request concurrency: one step up or one factor down each round trip."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
class ArcState:
    """``mean`` and ``variance`` follow the window means; the window ends at ``window_ends``."""

    limit: int
    mean: float | None = None
    variance: float = 0.0
    window_ends: float | None = None
    answers: int = 0
    total: float = 0.0
    reached: bool = False
    pressure: bool = False
    cut_at: float | None = None


@concurrency_law
@dataclass(frozen=True, slots=True)
class Arc:
    """Once a past mean latency, with R the window's mean, μ and σ² its moving mean and variance::

        R ≤ μ, the limit was reached, no refusal   L ← L + 1
        R ≥ μ + deviation × σ, or a refusal         L ← ⌊ratio × L⌋

    then μ and σ² take R in with weight ``ewma``. Seconds throughout; a refusal or time-out of a
    request sent before the last cut is not counted again. It starts at 2, not at Vector's 1, where
    a client that never has more than one request out would raise its limit. Source: Vector,
    adaptive concurrency controller (its issues 7371 and 3255 tell of the failures below).
    """

    name: ClassVar[str] = "arc"
    summary: ClassVar[str] = (
        "Vector's adaptive concurrency: one more each round trip while latency is at or under its "
        "moving mean; a tenth less on a refusal or when latency stands out."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Starts low and adds 1 a round trip: 37 to 43 s for 2,000 tasks that take 17.8 s on "
            "the congestion plant."
        ),
        Fault(
            "Its reference follows the congestion: 33 % of the optimum after the capacity halves; "
            "it recovers at once when the capacity returns."
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
        default=200,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The highest limit.",
    )
    initial: int = parameter(
        default=2,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The limit before anything was seen; between min and max.",
    )
    ewma: float = parameter(
        default=0.4,
        minimum=0.01,
        maximum=1.0,
        help="The weight of a new window in the moving mean and variance.",
    )
    deviation: float = parameter(
        default=2.5,
        minimum=0.0,
        maximum=5.0,
        unit="σ",
        help="How far latency must stand out to cut.",
    )
    ratio: float = parameter(
        default=0.9,
        minimum=0.1,
        maximum=0.99,
        help="The factor of a cut.",
    )
    signal: str = parameter(
        default="e2e",
        choices=SIGNALS,
        help="Which latency is followed.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> ArcState:
        return ArcState(limit=self.initial)

    def step(
        self, state: ArcState, seen: Observation, now: float
    ) -> tuple[ArcState, Decision | None]:
        if not seen.in_order(now):
            return state, None
        if seen.kind in (OutcomeKind.REJECTED, OutcomeKind.TIMED_OUT):
            if state.cut_at is not None and seen.started_at <= state.cut_at:
                return state, None
            return self._look(replace(state, pressure=True), now)
        latency = seen.measured(self.signal)
        if seen.kind is not OutcomeKind.OK or latency is None:
            return state, None
        state = replace(
            state,
            answers=state.answers + 1,
            total=state.total + latency,
            reached=state.reached or seen.in_flight >= state.limit,
        )
        if state.mean is None:
            first = replace(state, mean=latency, window_ends=now + latency, answers=0, total=0.0)
            return first, None
        return self._look(state, now)

    def _look(self, state: ArcState, now: float) -> tuple[ArcState, Decision | None]:
        if state.mean is None or state.window_ends is None or now < state.window_ends:
            return state, None
        short = state.total / state.answers if state.answers else None
        after, reason = self._move(state, short)
        mean, variance = state.mean, state.variance
        if short is not None:
            delta = short - mean
            mean += self.ewma * delta
            variance = (1 - self.ewma) * (variance + self.ewma * delta * delta)
        cut_at = now if after < state.limit else state.cut_at
        found = ArcState(after, mean, variance, now + mean, cut_at=cut_at)
        return found, decided(
            self,
            now,
            state.limit,
            after,
            reason,
            latency=short,
            mean=state.mean,
            deviation=math.sqrt(state.variance),
        )

    def _move(self, state: ArcState, short: float | None) -> tuple[int, Reason]:
        mean = state.mean or 0.0
        lower = max(self.min, int(state.limit * self.ratio))
        if state.pressure:
            return lower, Reason.REJECTED_BY_ENGINE
        if short is None or not state.reached:
            return state.limit, Reason.APP_LIMITED
        if short <= mean:
            at_most = state.limit >= self.max
            return min(self.max, state.limit + 1), Reason.AT_MAXIMUM if at_most else Reason.GROWN
        if short >= mean + self.deviation * math.sqrt(state.variance):
            return lower, Reason.RTT_INFLATED
        return state.limit, Reason.STEADY

    def limit(self, state: ArcState) -> int:
        return state.limit

    def until(self, state: ArcState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

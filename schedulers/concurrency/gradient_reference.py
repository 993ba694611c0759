"""The gradient law of the congestion source, as it stands, with the faults that it has."""

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
from schedulers.law import Fault, Guarantee, Standing


@dataclass(frozen=True, slots=True)
class GradientState:
    """``least`` is the smallest latency since ``least_since``; ``samples`` fill the window."""

    limit: float
    least: float | None = None
    least_since: float | None = None
    samples: tuple[float, ...] = ()


@concurrency_law
@dataclass(frozen=True, slots=True)
class GradientReference:
    """``limit × clamp(min / median, 0.5, 1.5) + β`` for every 25 answers; × 0.7 for every 429.

    The source calls it BBR; it has neither a delivery rate nor a probing cycle, and is Netflix's
    Gradient without its tolerance. Its fault is to compare the smallest *sample* with a *median*:
    any spread of latency reads as a queue. Its fixed point is β·r/(r − 1) with r = median / min,
    so it stands at 12 % of the optimum for lognormal latency with σ = 0.1 and at 7 % (limit 3) from
    σ = 0.3 on, and works only at σ = 0 (84 % over 2,000 tasks).

    Where the source's text and code differ: 25 answers a window (code; text 20), at most 128
    (code; text has no bound), the smallest latency expires after 10 minutes (text; absent in the
    code), raw latency (code; per token in the text, which measured worse). Kept as well: the cut
    for each refusal, and no guard for traffic that never reaches the limit. Not kept: the lost
    update between its two tasks, and "429" looked for in any error's text.
    """

    name: ClassVar[str] = "gradient_reference"
    summary: ClassVar[str] = (
        "The congestion source's law as published: the limit follows smallest over median latency "
        "of 25 answers, plus β; every refusal cuts it by 0.7."
    )
    standing: ClassVar[Standing] = Standing.REFERENCE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Smallest sample against median: any spread of latency reads as a queue. Limit 5.4 "
            "(12 % of the optimum) at lognormal σ = 0.1, 3.0 (7 %) from σ = 0.3 on: 258 s for "
            "2,000 tasks that take 17.8 s at the optimum. Only σ = 0 works (84 %, 21.2 s)."
        ),
        Fault(
            "Cuts for every refusal: 20 refusals of one overload leave 0.0008 of the limit.",
            breaks=Guarantee.ONE_CUT_PER_EPOCH,
        ),
        Fault(
            "Grows while traffic never reaches the limit: 5 requests/s for 300 s at σ = 0 raise it "
            "to 103; the burst after that is answered with 32 × 429 and drains in 20 s, not 4.4 s.",
            breaks=Guarantee.NO_GROWTH_WHILE_APP_LIMITED,
        ),
        Fault(
            "Expiry learns the congested floor anew: highest limit 47.9, 50.5, 52.6, 53.5 after "
            "successive expiries, towards the cliff at 55."
        ),
    )

    min: int = parameter(
        default=2,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The lowest limit.",
    )
    max: int = parameter(
        default=128,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The highest limit.",
    )
    initial: int = parameter(
        default=16,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The limit before anything was seen; between min and max.",
    )
    beta: float = parameter(
        default=1.5,
        minimum=0.0,
        maximum=64.0,
        unit="requests",
        help="β: what every window adds.",
    )
    window: int = parameter(
        default=25,
        minimum=1,
        maximum=1000,
        unit="answers",
        help="Answers whose median is compared with the smallest latency.",
    )
    gradient_min: float = parameter(
        default=0.5,
        minimum=0.01,
        maximum=1.0,
        help="The lowest factor of one window.",
    )
    gradient_max: float = parameter(
        default=1.5,
        minimum=1.0,
        maximum=4.0,
        help="The highest factor; above 1 it is never reached, as no median is below the minimum.",
    )
    backoff: float = parameter(
        default=0.7,
        minimum=0.1,
        maximum=0.99,
        help="The factor of every refusal.",
    )
    expiry_s: float | None = parameter(
        default=600.0,
        minimum=1.0,
        maximum=86_400.0,
        unit="s",
        help="Age at which the smallest latency is forgotten; empty: never, as in the code.",
    )
    signal: str = parameter(
        default="e2e",
        choices=SIGNALS,
        help="Which latency is followed.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> GradientState:
        return GradientState(limit=float(self.initial))

    def step(
        self, state: GradientState, seen: Observation, now: float
    ) -> tuple[GradientState, Decision | None]:
        if not seen.in_order(now):
            return state, None
        if seen.kind is OutcomeKind.REJECTED:
            return self._refused(state, now, seen)
        latency = seen.measured(self.signal)
        if seen.kind is not OutcomeKind.OK or latency is None:
            return state, None
        return self._answered(state, now, latency)

    def _refused(
        self, state: GradientState, now: float, seen: Observation
    ) -> tuple[GradientState, Decision]:
        after = self._within(state.limit * self.backoff)
        cut = GradientState(after, state.least, state.least_since, state.samples)
        return cut, decided(
            self, now, state.limit, after, Reason.REJECTED_BY_ENGINE, in_flight=seen.in_flight
        )

    def _answered(
        self, state: GradientState, now: float, latency: float
    ) -> tuple[GradientState, Decision | None]:
        least, since, expired = self._least(state, now, latency)
        samples = (*state.samples, latency)
        if len(samples) < self.window:
            kept = GradientState(state.limit, least, since, samples)
            return kept, self._expired(state, now) if expired else None
        median = sorted(samples)[len(samples) // 2]
        gradient = max(self.gradient_min, min(self.gradient_max, least / median))
        after = self._within(state.limit * gradient + self.beta)
        return GradientState(after, least, since), decided(
            self,
            now,
            state.limit,
            after,
            self._reason(state.limit, after),
            least=least,
            median=median,
            gradient=gradient,
        )

    def _least(self, state: GradientState, now: float, latency: float) -> tuple[float, float, bool]:
        """The smallest latency with its age; an expired one is forgotten, whatever the load."""
        if state.least is None or state.least_since is None:
            return latency, now, False
        if self.expiry_s is not None and now - state.least_since > self.expiry_s:
            return latency, now, True
        return min(state.least, latency), state.least_since, False

    def _expired(self, state: GradientState, now: float) -> Decision:
        reason = Reason.BASELINE_EXPIRED
        return decided(self, now, state.limit, state.limit, reason, least=state.least)

    def _within(self, limit: float) -> float:
        return max(float(self.min), min(float(self.max), limit))

    def _reason(self, before: float, after: float) -> Reason:
        if after > before:
            return Reason.GROWN
        if after < before:
            return Reason.RTT_INFLATED
        if after == self.max:
            return Reason.AT_MAXIMUM
        return Reason.AT_MINIMUM if after == self.min else Reason.STEADY

    def limit(self, state: GradientState) -> int:
        return int(state.limit)

    def until(self, state: GradientState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

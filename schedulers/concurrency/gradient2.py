"""Gradient2 of Netflix's concurrency-limits: the short latency against a long average of itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
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
from schedulers.span import Span

WARM_UP = 10
"""Spans whose plain mean starts the long average."""


@dataclass(frozen=True, slots=True)
class Gradient2State:
    """``long`` is the long average in seconds, over ``spans`` spans; ``total`` sums the first."""

    limit: float
    span: Span = field(default_factory=Span)
    long: float | None = None
    total: float = 0.0
    spans: int = 0


@concurrency_law
@dataclass(frozen=True, slots=True)
class Gradient2:
    """Once a span of at least a second and ten answers, with R its mean latency in seconds::

        long ← EMA(R) over ``long_window`` spans;  long ← 0.95 long  where long > 2 R
        g    = clamp(tolerance × long / R, 0.5, 1)
        L    ← (1 − smoothing) L + smoothing (L g + queue)     where L / 2 were in flight

    Source: Netflix concurrency-limits, Gradient2Limit at 78a74b9, with WindowedLimit around it.
    As there, refusals are ignored: only a refused span's other answers speak.
    """

    name: ClassVar[str] = "gradient2"
    summary: ClassVar[str] = (
        "Netflix's Gradient2: the limit follows a long average of latency over the last span's, "
        "with a tolerance, plus a queue; smoothed."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "The baseline is an average, so an overload that lasts becomes the baseline: 62 to "
            "67 % of the optimum in the long run on the congestion plant, 29 % over half an hour."
        ),
        Fault("Ignores refusals: over 1,000 × 429 in a minute of half the capacity."),
    )

    min: int = parameter(
        default=20,
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
        default=20,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="requests",
        help="The limit before anything was seen; between min and max.",
    )
    smoothing: float = parameter(
        default=0.2,
        minimum=0.0,
        exclusive_minimum=True,
        maximum=1.0,
        help="The weight of a new limit.",
    )
    queue: float = parameter(
        default=4.0,
        minimum=0.0,
        maximum=256.0,
        unit="requests",
        help="What each span adds before smoothing.",
    )
    tolerance: float = parameter(
        default=1.5,
        minimum=1.0,
        maximum=4.0,
        help="How far latency may rise over its long average before the limit falls.",
    )
    long_window: int = parameter(
        default=600,
        minimum=WARM_UP,
        maximum=100_000,
        unit="spans",
        help="Length of the long average.",
    )
    signal: str = parameter(
        default="e2e",
        choices=SIGNALS,
        help="Which latency is followed.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> Gradient2State:
        return Gradient2State(limit=float(self.initial))

    def step(
        self, state: Gradient2State, seen: Observation, now: float
    ) -> tuple[Gradient2State, Decision | None]:
        latency = seen.measured(self.signal)
        if not seen.in_order(now) or seen.kind is not OutcomeKind.OK or latency is None:
            return state, None
        span = state.span.add(latency, seen.in_flight, now)
        if not span.ready(now):
            return Gradient2State(state.limit, span, state.long, state.total, state.spans), None
        return self._span_ended(state, span, now)

    def _span_ended(
        self, state: Gradient2State, span: Span, now: float
    ) -> tuple[Gradient2State, Decision]:
        short = span.mean
        spans, total, long = self._average(state, short)
        if long / short > 2.0:
            long *= 0.95
        after, reason = state.limit, Reason.APP_LIMITED
        if span.peak >= state.limit / 2:
            gradient = max(0.5, min(1.0, self.tolerance * long / short))
            wanted = state.limit * gradient + self.queue
            smoothed = (1 - self.smoothing) * state.limit + self.smoothing * wanted
            after = max(float(self.min), min(float(self.max), smoothed))
            reason = self._reason(state.limit, after)
        found = Gradient2State(after, Span(since=now), long, total, spans)
        return found, decided(
            self, now, state.limit, after, reason, latency=short, average=long, peak=span.peak
        )

    def _average(self, state: Gradient2State, short: float) -> tuple[int, float, float]:
        if state.spans < WARM_UP or state.long is None:
            spans, total = state.spans + 1, state.total + short
            return spans, total, total / spans
        factor = 2 / (self.long_window + 1)
        return state.spans, state.total, state.long * (1 - factor) + short * factor

    def _reason(self, before: float, after: float) -> Reason:
        if after > before:
            return Reason.GROWN
        if after < before:
            return Reason.RTT_INFLATED
        return Reason.AT_MAXIMUM if after == self.max else Reason.STEADY

    def limit(self, state: Gradient2State) -> int:
        return int(state.limit)

    def until(self, state: Gradient2State) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

"""Vegas of Netflix's concurrency-limits: keep a small queue over the smallest latency seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
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

_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class VegasState:
    """``least`` is the no-load latency in seconds; ``since_probe`` counts spans after a probe."""

    limit: float
    span: Span = field(default_factory=Span)
    least: float | None = None
    since_probe: int = 0
    probes: int = 0
    cut_at: float | None = None


@concurrency_law
@dataclass(frozen=True, slots=True)
class Vegas:
    """Once a span, with R its mean latency, b the smallest such mean and q = ⌈L (1 − b / R)⌉::

        refused       L ← L − log₁₀ L              (once for requests sent since the last cut)
        q ≤ log₁₀ L   L ← L + β        β = 6 log₁₀ L
        q < α         L ← L + log₁₀ L  α = 3 log₁₀ L
        q > β         L ← L − log₁₀ L
        every 15 to 30 × L spans: b ← R, whatever the load

    and no change while under L / 2 are in flight. log₁₀ L is cut to a whole number, at least 1.
    Source: Netflix concurrency-limits, VegasLimit at 78a74b9, with WindowedLimit around it. The
    probe's jitter is a golden-ratio sequence here, so that equal observations decide equally; a
    refusal counts once an epoch, at the span's end.
    """

    name: ClassVar[str] = "vegas"
    summary: ClassVar[str] = (
        "Netflix's Vegas: estimates the queue as L (1 − least / mean latency) and keeps it between "
        "3 and 6 × log10 L, moving by one step a span."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "One step of about 1 a span is far too slow for a cliff: 78 % of the optimum after the "
            "capacity halves, with 2,266 × 429; 50 % in the long run at σ = 0.6."
        ),
        Fault(
            "A longer route reads as a queue until the next probe: 24 % after 200 ms more. The "
            "probe takes whatever latency there is as no load (Netflix/concurrency-limits#165)."
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
        default=1000,
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
    alpha: float = parameter(
        default=3.0,
        minimum=1.0,
        maximum=32.0,
        unit="log10 L",
        help="Below this queue the limit grows by one step.",
    )
    beta: float = parameter(
        default=6.0,
        minimum=1.0,
        maximum=64.0,
        unit="log10 L",
        help="Above this queue it falls by one step; where there is none it grows by so much.",
    )
    probe: int = parameter(
        default=30,
        minimum=1,
        maximum=10_000,
        unit="L spans",
        help="The no-load latency is taken anew after half to all of so many times L spans.",
    )
    signal: str = parameter(
        default="e2e",
        choices=SIGNALS,
        help="Which latency is followed.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> VegasState:
        return VegasState(limit=float(self.initial))

    def step(
        self, state: VegasState, seen: Observation, now: float
    ) -> tuple[VegasState, Decision | None]:
        if not seen.in_order(now):
            return state, None
        if seen.kind is OutcomeKind.REJECTED:
            if state.cut_at is not None and seen.started_at <= state.cut_at:
                return state, None
            return replace(state, span=state.span.refuse()), None
        latency = seen.measured(self.signal)
        if seen.kind is not OutcomeKind.OK or latency is None:
            return state, None
        span = state.span.add(latency, seen.in_flight, now)
        if not span.ready(now):
            return replace(state, span=span), None
        return self._span_ended(state, span, now)

    def _span_ended(
        self, state: VegasState, span: Span, now: float
    ) -> tuple[VegasState, Decision | None]:
        state = replace(state, span=Span(since=now), since_probe=state.since_probe + 1)
        jitter = 0.5 + 0.5 * (state.probes * _GOLDEN % 1.0)
        if state.least is None or span.mean < state.least:
            return replace(state, least=span.mean), None
        if state.since_probe >= jitter * self.probe * state.limit:
            probed = replace(state, least=span.mean, since_probe=0, probes=state.probes + 1)
            return probed, decided(
                self, now, state.limit, state.limit, Reason.BASELINE_EXPIRED, least=state.least
            )
        after, reason, queue = self._move(state, span)
        after = max(float(self.min), min(float(self.max), after))
        cut_at = now if after < state.limit else state.cut_at
        return replace(state, limit=after, cut_at=cut_at), decided(
            self,
            now,
            state.limit,
            after,
            reason,
            queue=queue,
            latency=span.mean,
            least=state.least,
            peak=span.peak,
        )

    def _move(self, state: VegasState, span: Span) -> tuple[float, Reason, float]:
        limit = state.limit
        least = span.mean if state.least is None else state.least
        queue = float(math.ceil(limit * (1.0 - least / span.mean)))
        step = float(max(1, int(math.log10(limit))))
        if span.refused:
            return limit - step, Reason.REJECTED_BY_ENGINE, queue
        if span.peak * 2 < limit:
            return limit, Reason.APP_LIMITED, queue
        if queue > self.beta * step:
            return limit - step, Reason.RTT_INFLATED, queue
        if limit >= self.max or queue >= self.alpha * step:
            return limit, Reason.AT_MAXIMUM if limit >= self.max else Reason.STEADY, queue
        return limit + (self.beta * step if queue <= step else step), Reason.GROWN, queue

    def limit(self, state: VegasState) -> int:
        return int(state.limit)

    def until(self, state: VegasState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

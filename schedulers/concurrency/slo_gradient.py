"""slo_gradient: the limit follows target over measured latency, with no baseline to learn."""

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
class SloGradientState:
    """``values`` are latencies in seconds of requests that started after the last window."""

    limit: float
    since: float | None = None
    values: tuple[float, ...] = ()
    peak: int = 0
    cut_at: float | None = None


@concurrency_law
@dataclass(frozen=True, slots=True)
class SloGradient:
    """Once a window (``window`` answers of requests that started after the last, and at least
    their own percentile's time), with T the target and P the percentile, in seconds::

        g = clamp(T × aim / P, 0.5, 1.2)
        L ← L × g^gain                      where g < 1
        L ← L × g^gain + √L × headroom      where g ≥ 1 and the limit was reached

    A refusal or time-out cuts once an epoch, to 0.85 L. The idea: anchor the limit to the SLO
    and not to the smallest latency ever measured (ai-dynamo/dynamo#9047); the step is Envoy's.
    """

    name: ClassVar[str] = "slo_gradient"
    summary: ClassVar[str] = (
        "Steers the latency percentile to a target: multiplies the limit by a power of target over "
        "measured, plus a square root of headroom."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Knows the target only: where the target is loose it queues up to it, whatever that "
            "costs in throughput, and where it is tighter than an idle endpoint it falls to min."
        ),
        Fault(
            "Target and work must match: the congestion plant's cliff crosses the default 1 s, "
            "and the limit saws across it: 59 to 63 % of the optimum."
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
    target_ms: float = parameter(
        default=1000.0,
        minimum=1.0,
        maximum=600_000.0,
        unit="ms",
        help="The latency that the percentile is steered to: the SLO's.",
    )
    percentile: float = parameter(
        default=95.0,
        minimum=50.0,
        maximum=99.0,
        unit="%",
        help="Which percentile of latency.",
    )
    aim: float = parameter(
        default=0.9,
        minimum=0.1,
        maximum=1.0,
        help="The share of the target that is steered to.",
    )
    gain: float = parameter(
        default=0.5,
        minimum=0.05,
        maximum=1.0,
        help="The power of target over measured.",
    )
    headroom: float = parameter(
        default=0.25,
        minimum=0.0,
        maximum=1.0,
        unit="√L",
        help="What each healthy window adds; 0: growth by the ratio alone.",
    )
    window: int = parameter(
        default=40,
        minimum=20,
        maximum=10_000,
        unit="answers",
        help="Answers of one window; more make the percentile surer.",
    )
    signal: str = parameter(
        default="ttft",
        choices=SIGNALS,
        help="Which latency is steered.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> SloGradientState:
        return SloGradientState(limit=float(self.initial))

    def step(
        self, state: SloGradientState, seen: Observation, now: float
    ) -> tuple[SloGradientState, Decision | None]:
        if not seen.in_order(now):
            return state, None
        if seen.kind in (OutcomeKind.REJECTED, OutcomeKind.TIMED_OUT):
            return self._refused(state, seen, now)
        latency = seen.measured(self.signal)
        if seen.kind is not OutcomeKind.OK or latency is None:
            return state, None
        since = seen.started_at if state.since is None else state.since
        if seen.started_at < since:
            return state, None
        values, peak = (*state.values, latency), max(state.peak, seen.in_flight)
        if len(values) >= self.window:
            measured = _percentile(values, self.percentile)
            if now - since >= measured or len(values) >= 4 * self.window:
                return self._window_ended(replace(state, peak=peak), measured, now)
        return replace(state, since=since, values=values, peak=peak), None

    def _refused(
        self, state: SloGradientState, seen: Observation, now: float
    ) -> tuple[SloGradientState, Decision | None]:
        if state.cut_at is not None and seen.started_at <= state.cut_at:
            return state, None
        after = max(float(self.min), 0.85 * state.limit)
        rejected = seen.kind is OutcomeKind.REJECTED
        reason = Reason.REJECTED_BY_ENGINE if rejected else Reason.TIMED_OUT
        cut = SloGradientState(after, since=now, cut_at=now)
        return cut, decided(self, now, state.limit, after, reason, in_flight=seen.in_flight)

    def _window_ended(
        self, state: SloGradientState, measured: float, now: float
    ) -> tuple[SloGradientState, Decision]:
        limit = state.limit
        ratio = self.target_ms / 1000.0 * self.aim / measured
        factor = max(0.5, min(1.2, ratio)) ** self.gain
        if factor < 1.0:
            after, reason = limit * factor, Reason.RTT_INFLATED
        elif state.peak < int(limit):
            after, reason = limit, Reason.APP_LIMITED
        else:
            after, reason = limit * factor + self.headroom * math.sqrt(limit), Reason.GROWN
        after = max(float(self.min), min(float(self.max), after))
        if after == limit and reason is Reason.GROWN:
            reason = Reason.AT_MAXIMUM
        cut_at = now if after < limit else state.cut_at
        return SloGradientState(after, since=now, cut_at=cut_at), decided(
            self, now, limit, after, reason, latency=measured, ratio=ratio, peak=state.peak
        )

    def limit(self, state: SloGradientState) -> int:
        return int(state.limit)

    def until(self, state: SloGradientState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max


def _percentile(values: tuple[float, ...], percent: float) -> float:
    """The nearest rank, rounded up: a latency that was really measured."""
    rank = math.ceil(percent / 100.0 * len(values))
    return sorted(values)[min(len(values), max(1, rank)) - 1]

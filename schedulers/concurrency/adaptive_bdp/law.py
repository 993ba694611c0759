"""adaptive_bdp: as many in flight as latency stays at its unqueued level for, and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from schedulers.adaptive.cohort import Cohort
from schedulers.adaptive.course import Course
from schedulers.concurrency.adaptive_bdp.concluding import concluded
from schedulers.concurrency.adaptive_bdp.gathering import gathered
from schedulers.concurrency.adaptive_bdp.moving import moved, refused, resumed
from schedulers.concurrency.adaptive_bdp.reading import looked
from schedulers.concurrency.adaptive_bdp.state import AdaptiveState
from schedulers.concurrency.adaptive_bdp.tuning import Tuning
from schedulers.concurrency.base import Observation, OutcomeKind, concurrency_law, decided
from schedulers.decision import Decision, Reason
from schedulers.law import Fault, Standing


@concurrency_law
@dataclass(frozen=True, slots=True)
class AdaptiveBdp(Tuning):
    """Little's law gives the bandwidth-delay product of an endpoint, X × R without a queue; the
    law finds it from latency alone, one cohort of requests (those *started* in one span) at a time.

    With q the cohort's median log latency, b the baseline, t = ln(1 + tolerance) (1 + 10 / L)::

        congested   q > b + t + z errors, or evidence summed over cohorts, or the pooled median
        cut         L ← L × clamp(1.03 exp(b − q), max_cut, 0.85), not below 0.97 × the proven limit
        grow        start-up: L × startup_gain; below the last cut's limit: + 8 %; else + max(1,
                    0.15 √L), faster where the pooled median is precise and the ceiling far
        verify      Δq / Δln L of a cut under undo_elasticity: no queue; b ← q, the cut is undone
        refused     once an epoch: L ← min(0.85 L, 0.9 in flight)

    With ``signal: ttft`` and streamed answers R is TTFT + the least median time from first token to
    end: its relative rise is the share of requests in flight that wait. No growth unless 0.9 L were
    in flight. Requests and seconds. Why, how stable and how well:
    docs/laws/adaptive_bdp.md.
    """

    name: ClassVar[str] = "adaptive_bdp"
    summary: ClassVar[str] = (
        "Finds the largest limit without a queue: cohort medians against a baseline that only "
        "verification can raise; a cut that does not help is undone. The default."
    )
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Where work spreads widely or the endpoint is small, and a cliff follows the knee, it "
            "steps over now and then: 3 of 42 unlisted plants stood at 41 to 62 % of the optimum."
        ),
        Fault(
            "Following the first token on continuous batching it stops at the power point: 64 to "
            "90 % of the best fixed limit's output within the objectives on seven of nine profiles "
            "of the engine model, 101 and 133 % on two."
        ),
        Fault("Start-up may overshoot a knee by a quarter, once (limit 59 where the knee is 55)."),
        Fault(
            "It yields to others who tolerate more queue on a shared endpoint; among its like, "
            "shares wander (Jain's index 0.93 over ten runs of four clients)."
        ),
    )

    def start(self) -> AdaptiveState:
        initial = float(self.initial)
        return AdaptiveState(initial, Cohort(1, 0.0), Course(initial))

    def step(
        self, state: AdaptiveState, seen: Observation, now: float
    ) -> tuple[AdaptiveState, Decision | None]:
        if not seen.in_order(now) or seen.kind is OutcomeKind.TICK:
            return state, None
        if seen.kind in (OutcomeKind.REJECTED, OutcomeKind.TIMED_OUT):
            return self._refused(state, seen, now)
        if seen.kind not in (OutcomeKind.OK, OutcomeKind.FIRST_TOKEN):
            return state.lost(seen), None
        latency = seen.measured(self.signal)
        untold = self.signal != "ttft" or seen.ttft is None
        if latency is None or (untold and seen.kind is OutcomeKind.FIRST_TOKEN):
            return state, None
        if state.after_pause(seen):
            return self._paused(state, seen, now)
        return self._answered(state, seen, now, latency)

    def _refused(
        self, state: AdaptiveState, seen: Observation, now: float
    ) -> tuple[AdaptiveState, Decision | None]:
        """Refusals of requests sent before the last cut are that cut's, and count no more."""
        if state.cut_at is not None and seen.started_at <= state.cut_at:
            return state.lost(seen), None
        cut = refused(self, state, seen, now)
        rejected = seen.kind is OutcomeKind.REJECTED
        reason = Reason.REJECTED_BY_ENGINE if rejected else Reason.TIMED_OUT
        return cut, decided(self, now, state.limit, cut.limit, reason, in_flight=seen.in_flight)

    def _paused(
        self, state: AdaptiveState, seen: Observation, now: float
    ) -> tuple[AdaptiveState, Decision | None]:
        after = resumed(self, state, seen, now)
        if int(after.limit) == int(state.limit):
            return after, None
        return after, decided(
            self, now, state.limit, after.limit, Reason.APP_LIMITED, in_flight=seen.in_flight
        )

    def _answered(
        self, state: AdaptiveState, seen: Observation, now: float, latency: float
    ) -> tuple[AdaptiveState, Decision | None]:
        state = gathered(self, state, seen, now, latency)
        streamed = self.signal == "ttft" and (seen.ttft is not None or seen.told)
        if streamed and not (state.answers.known or state.live):
            return state, None
        look = looked(self, state, now)
        if look is None:
            return state, None
        after, reason = moved(self, state, concluded(self, state, look), seen, now)
        reading = look.reading
        return after, decided(
            self,
            now,
            state.limit,
            after.limit,
            reason,
            median=math.exp(reading.value),
            error=reading.error,
            pooled=math.exp(reading.pool),
            baseline=math.exp(reading.low),
            evidence=reading.after.evidence,
            peak=state.cohort.peak,
        )

    def limit(self, state: AdaptiveState) -> int:
        return int(state.limit)

    def until(self, state: AdaptiveState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

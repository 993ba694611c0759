"""adaptive_bdp: as many in flight as latency stays at its unqueued level for, and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

from documents.fields import parameter
from schedulers import startup
from schedulers.answers import Answers
from schedulers.baseline import Baseline, Reading, Sense, read
from schedulers.cohort import Cohort
from schedulers.concurrency.base import (
    LIMIT_CEILING,
    SIGNALS,
    Observation,
    OutcomeKind,
    check_bounds,
    concurrency_law,
    decided,
)
from schedulers.course import Course, Trial, Verdict, climb, verify
from schedulers.decision import Decision, Reason
from schedulers.law import Fault, Standing
from schedulers.longer import longer
from schedulers.pace import FEWEST, Pace

SMALL = 10.0
"""A limit of so many doubles the tolerance: clients with less yield later, with more sooner."""
SHALLOWEST = 0.85
"""A cut takes at least this factor."""
OVERDUE = 0.3
"""How far beyond what congests a median must be to be called so before it is known."""
REACHED = 0.9
"""With less than this share of the limit in flight it is not what limits."""
IDLE_TRIPS = 20.0
"""So many round trips without an answer are a pause, after which only what was proven holds."""


@dataclass(frozen=True, slots=True)
class AdaptiveState:
    """``rtt`` is the smoothed latency in seconds, ``ended`` how many observations were counted."""

    limit: float
    cohort: Cohort
    course: Course
    baseline: Baseline = field(default_factory=Baseline)
    rtt: float | None = None
    last_at: float | None = None
    ended: int = 0
    cut_at: float | None = None
    answers: Answers = field(default_factory=lambda: Answers(Cohort(1, 0.0)))
    """Of streamed ones only."""
    live: bool = False
    """First tokens are told when they come, not when their answer ends."""


@concurrency_law
@dataclass(frozen=True, slots=True)
class AdaptiveBdp:
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
        help="The limit before anything was seen; between min and max. Warm: the last good one.",
    )
    tolerance: float = parameter(
        default=0.06,
        minimum=0.02,
        maximum=0.5,
        help="Rise of median latency over the baseline that is no queue yet.",
    )
    z_cohort: float = parameter(
        default=3.3,
        minimum=1.0,
        maximum=6.0,
        unit="standard errors",
        help="How surely one cohort must stand above that.",
    )
    z_epoch: float = parameter(
        default=2.5,
        minimum=1.0,
        maximum=6.0,
        unit="standard errors",
        help="How surely all cohorts of one limit must.",
    )
    cohort: int = parameter(
        default=25,
        minimum=10,
        maximum=500,
        unit="requests",
        help="Fewest requests of a cohort; fewer where the limit is smaller.",
    )
    epochs: int = parameter(
        default=30,
        minimum=2,
        maximum=500,
        unit="bounds",
        help="How many bounds of the baseline are remembered.",
    )
    startup_gain: float = parameter(
        default=1.25,
        minimum=1.05,
        maximum=2.0,
        help="The factor of a step in start-up, which ends with the first congestion.",
    )
    max_cut: float = parameter(
        default=0.6,
        minimum=0.2,
        maximum=0.85,
        help="The factor of the deepest cut.",
    )
    hold: int = parameter(
        default=4,
        minimum=0,
        maximum=100,
        unit="cohorts",
        help="Pause between a cut and growth beyond it.",
    )
    undo_elasticity: float = parameter(
        default=0.15,
        minimum=0.01,
        maximum=0.9,
        help="Fall of latency per fall of the limit, both relative, under which it is no queue.",
    )
    pace_elasticity: float = parameter(
        default=0.5,
        minimum=0.1,
        maximum=0.95,
        help="Streamed and ttft: rise of the time per token for that of the limit, both relative, "
        "from which growth ends.",
    )
    signal: str = parameter(
        default="ttft",
        choices=SIGNALS,
        help="Which latency is followed.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

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
            return _lost(state, seen), None
        begun = seen.kind is OutcomeKind.FIRST_TOKEN
        latency = seen.measured(self.signal)
        if latency is None or (begun and (self.signal != "ttft" or seen.ttft is None)):
            return state, None
        last = seen.started_at if state.last_at is None else state.last_at
        if state.rtt is not None and seen.started_at - last > IDLE_TRIPS * state.rtt:
            return self._paused(state, seen, now)
        return self._answered(state, seen, now, latency)

    def _refused(
        self, state: AdaptiveState, seen: Observation, now: float
    ) -> tuple[AdaptiveState, Decision | None]:
        """Refusals of requests sent before the last cut are that cut's, and count no more."""
        if state.cut_at is not None and seen.started_at <= state.cut_at:
            return _lost(state, seen), None
        after = max(float(self.min), min(0.85 * state.limit, 0.9 * seen.in_flight))
        rejected = seen.kind is OutcomeKind.REJECTED
        reason = Reason.REJECTED_BY_ENGINE if rejected else Reason.TIMED_OUT
        granted = _granted(state, seen)
        cut = replace(
            state,
            limit=after,
            cohort=Cohort(granted + 1, now),
            course=state.course.cut(state.limit, after, self.hold, None),
            baseline=replace(state.baseline.afresh(), evidence=0.0),
            last_at=now,
            ended=state.ended + 1,
            cut_at=now,
            answers=replace(state.answers, pace=state.answers.pace.afresh(now)),
        )
        return cut, decided(self, now, state.limit, after, reason, in_flight=seen.in_flight)

    def _paused(
        self, state: AdaptiveState, seen: Observation, now: float
    ) -> tuple[AdaptiveState, Decision | None]:
        """After a pause the world may have changed: back to what was proven, with a new cohort."""
        after = min(state.limit, max(state.course.proven, float(self.min)))
        granted = _granted(state, seen)
        resumed = replace(
            state,
            limit=after,
            cohort=Cohort(granted + 1, now),
            baseline=state.baseline.afresh(),
            last_at=now,
            ended=state.ended + (seen.kind is OutcomeKind.OK),
            answers=replace(
                state.answers,
                cohort=Cohort(granted + 1, now),
                pace=Pace(since=now, shown=after),
            ),
        )
        if int(after) == int(state.limit):
            return resumed, None
        return resumed, decided(
            self, now, state.limit, after, Reason.APP_LIMITED, in_flight=seen.in_flight
        )

    def _answered(
        self, state: AdaptiveState, seen: Observation, now: float, latency: float
    ) -> tuple[AdaptiveState, Decision | None]:
        granted = _granted(state, seen)
        streamed = self.signal == "ttft" and (seen.ttft is not None or seen.told)
        state = self._learned(state, seen, now, latency, streamed=streamed)
        if state.cohort.closed is None and self._enough(state, state.cohort.size(granted), now):
            state = replace(state, cohort=state.cohort.close(granted, now))
        if streamed:
            state = _weighed(state, granted, now, min(self.cohort, max(10, self._usual(state))))
            if not (state.answers.known or state.live):
                return state, None
        return self._looked(state, seen, now)

    def _learned(
        self, state: AdaptiveState, seen: Observation, now: float, latency: float, *, streamed: bool
    ) -> AdaptiveState:
        """What one observation says of itself, in the cohorts that it is a member of."""
        begun = seen.kind is OutcomeKind.FIRST_TOKEN
        rtt, answers = state.rtt, state.answers
        if not begun:
            rest = _rest(seen, latency) if streamed else 0.0
            whole = latency + rest
            rtt = whole if rtt is None else rtt + 0.1 * (min(whole, 2 * rtt) - rtt)
            if streamed:
                enough = FEWEST if state.course.startup else self.cohort
                answers = answers.ended(seen, rest, seen.output_tokens, now, enough)
        if streamed and seen.told:
            cohort = state.cohort.with_peak(seen.in_flight)
        else:
            value = math.log(latency + (answers.rest if streamed else 0.0))
            cohort = state.cohort.with_answer(seen, value, streamed=streamed and not begun)
        return AdaptiveState(
            state.limit,
            cohort,
            state.course,
            state.baseline,
            rtt,
            now,
            state.ended + (not begun),
            state.cut_at,
            answers,
            state.live or begun,
        )

    def _looked(
        self, state: AdaptiveState, seen: Observation, now: float
    ) -> tuple[AdaptiveState, Decision | None]:
        """Judge the cohort once it can be."""
        cohort = state.cohort
        if cohort.closed is None:
            return state, None
        sense = self._sense(state)
        # A value counts the rest that follows the first token; who still waits for it doesn't yet.
        aged = now + (state.answers.rest if state.live else 0.0)
        if cohort.settled(aged):
            return self._judge(state, read(state.baseline, cohort.complete(), sense), now, seen)
        if self._overdue(state, aged):
            least = [math.log(aged - cohort.closed)] * cohort.size(cohort.first)
            reading = read(state.baseline, least, sense, overdue=True)
            return self._judge(state, reading, now, seen, overdue=True)
        if state.rtt is not None and cohort.abandoned(now, 8.0 * state.rtt):
            values = sorted(cohort.values)
            return self._judge(state, read(state.baseline, values, sense), now, seen)
        return state, None

    def _usual(self, state: AdaptiveState) -> int:
        return 16 if state.course.startup else int(state.limit)

    def _enough(self, state: AdaptiveState, size: int, now: float) -> bool:
        """A cohort takes 0.6 round trips and its number of requests, or two round trips.

        In start-up of streamed answers it takes some first tokens.
        """
        if state.live and state.course.startup:
            reached = state.cohort.peak >= REACHED * int(state.limit)
            return startup.enough(size, state.limit, self.cohort, reached=reached)
        if state.rtt is None:
            return False
        trips = (now - state.cohort.opened) / state.rtt
        return trips >= 0.6 and (
            size >= min(self.cohort, max(10, self._usual(state))) or (trips >= 2.0 and size >= 8)
        )

    def _sense(self, state: AdaptiveState) -> Sense:
        tolerance = math.log(1.0 + self.tolerance)
        return Sense(
            self.z_cohort,
            self.z_epoch,
            self.epochs,
            tolerance * (1.0 + SMALL / state.limit),
            0.5 * tolerance,
            state.course.startup,
        )

    def _overdue(self, state: AdaptiveState, now: float) -> bool:
        """Half of a cohort is out for so long that its median, unknown yet, is surely too high."""
        low = state.baseline.low
        if low is None or state.course.trial is not None:
            return False
        size = max(1, state.cohort.size(state.cohort.first))
        error = 1.253 * (state.baseline.spread or OVERDUE) / math.sqrt(size)
        edge = low + self._sense(state).tolerance + OVERDUE + self.z_cohort * error
        return state.cohort.overdue(now, edge)

    def _judge(
        self,
        state: AdaptiveState,
        reading: Reading,
        now: float,
        seen: Observation,
        *,
        overdue: bool = False,
    ) -> tuple[AdaptiveState, Decision]:
        after, course, baseline, reason = self._conclude(state, reading, overdue=overdue)
        after = max(float(self.min), min(float(self.max), after))
        if after > state.limit:
            course = course.grown()
        if after > state.limit and reason is not Reason.UNDO:
            baseline = baseline.ended(self._sense(state))
        if reason is Reason.GROWN and after == state.limit:
            reason = Reason.AT_MAXIMUM
        cut_at = now if after < state.limit else state.cut_at
        granted, first = _granted(state, seen), 1
        if state.live and after > state.limit:
            # Those that this lets go at once wait for one another: that is no queue of the limit.
            first += min(seen.waiting, int(after) - int(state.limit))
        answers = state.answers
        if after != state.limit:
            answers = replace(answers, pace=answers.pace.afresh(now))
        found = replace(
            state,
            limit=after,
            cohort=Cohort(granted + first, now),
            course=course,
            baseline=baseline,
            last_at=now,
            cut_at=cut_at,
            answers=answers,
        )
        return found, decided(
            self,
            now,
            state.limit,
            after,
            reason,
            median=math.exp(reading.value),
            error=reading.error,
            pooled=math.exp(reading.pool),
            baseline=math.exp(reading.low),
            evidence=reading.after.evidence,
            peak=state.cohort.peak,
        )

    def _conclude(
        self, state: AdaptiveState, seen: Reading, *, overdue: bool
    ) -> tuple[float, Course, Baseline, Reason]:
        limit, course, baseline = state.limit, state.course, seen.after
        edge = self._sense(state).tolerance
        if course.trial is not None:
            verdict = verify(course.trial, limit, seen, edge, self.undo_elasticity)
            if verdict is Verdict.NO_QUEUE:
                moved = baseline.moved(seen.pool, seen.pool_error)
                return course.trial.back, course.undone(), moved, Reason.UNDO
            if verdict is Verdict.QUEUE:
                course = replace(course, trial=None)
            elif verdict is Verdict.OPEN and seen.congested and course.calm < 3:
                return limit, replace(course, calm=course.calm + 1), baseline, Reason.PROBE
        if state.cohort.peak < REACHED * int(limit):
            return limit, course, baseline, Reason.APP_LIMITED
        if seen.congested:
            return self._cut(state, course, seen, overdue=overdue)
        if state.answers.pace.elasticity > self.pace_elasticity:
            return self._paid(state), replace(course, startup=False), baseline, Reason.NO_GAIN
        after, course, reason = self._climb(state, course, seen)
        return after, course, baseline, reason

    def _climb(
        self, state: AdaptiveState, course: Course, seen: Reading
    ) -> tuple[float, Course, Reason]:
        limit, edge = state.limit, self._sense(state).tolerance
        if not (state.live and course.startup):
            return climb(limit, course, seen, edge, self.startup_gain)
        most = startup.shown(self.initial, state.answers.pace, self.pace_elasticity)
        return startup.climbed(limit, course, seen, edge, most)

    def _paid(self, state: AdaptiveState) -> float:
        """Where growth ends."""
        if not (state.live and state.course.startup):
            return state.limit
        return startup.taken_back(state.limit, state.answers.pace, self.pace_elasticity)

    def _cut(
        self, state: AdaptiveState, course: Course, seen: Reading, *, overdue: bool
    ) -> tuple[float, Course, Baseline, Reason]:
        """Down to where there was no queue, by the baseline or by what was proven before."""
        limit = state.limit
        if limit <= self.min:
            if course.calm < 4:
                waited = replace(course, calm=course.calm + 1)
                return limit, waited, seen.after, Reason.AT_MINIMUM
            moved = seen.after.moved(seen.pool, seen.pool_error)
            return limit, replace(course, calm=0, trial=None), moved, Reason.BASELINE_EXPIRED
        after = limit * math.exp(seen.low - seen.depth) * 1.03
        if course.proven < 0.99 * limit:
            after = max(after, 0.97 * course.proven)
        after = max(float(self.min), min(SHALLOWEST * limit, max(self.max_cut * limit, after)))
        trial = course.trial
        if trial is None and not overdue:
            trial = Trial(limit, seen.depth, seen.depth_error, course.startup)
        baseline = replace(seen.after.afresh(), evidence=0.0)
        return after, course.cut(limit, after, self.hold, trial), baseline, Reason.RTT_INFLATED

    def limit(self, state: AdaptiveState) -> int:
        return int(state.limit)

    def until(self, state: AdaptiveState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max


def _granted(state: AdaptiveState, seen: Observation) -> int:
    """Permits granted up to now; a host that doesn't count them has granted what ended or runs."""
    return seen.granted or state.ended + seen.in_flight


def _lost(state: AdaptiveState, seen: Observation) -> AdaptiveState:
    """A member is missing then; not where its first token is known already."""
    cohort = state.cohort if seen.told else state.cohort.without(seen)
    return replace(state, cohort=cohort, ended=state.ended + 1, answers=state.answers.without(seen))


def _rest(seen: Observation, ttft: float) -> float:
    """Seconds from first token to end, where the observation tells."""
    whole = seen.latency
    if whole is None or not math.isfinite(whole):
        return 0.0
    return max(0.0, whole - ttft)


def _weighed(state: AdaptiveState, granted: int, now: float, size: int) -> AdaptiveState:
    """Weigh waits for the first token against the time that answers take.

    By Little's law the share of requests in flight that wait for their first token beyond what it
    takes without a queue is (TTFT − its baseline) / e2e. So TTFT is followed as TTFT + rest, with
    the rest of a request, from first token to end, as a constant: the least median of a cohort so
    far. A relative rise of that sum *is* the share in the queue, however short the first token; and
    output lengths play no part. Where a lower rest is found, all that is known is told anew by it.
    """
    answers = state.answers.judged(granted, now, size)
    if answers is state.answers:
        return state
    change = answers.rest - state.answers.rest
    if change == 0.0:
        return AdaptiveState(
            state.limit,
            state.cohort,
            state.course,
            state.baseline,
            state.rtt,
            state.last_at,
            state.ended,
            state.cut_at,
            answers,
            state.live,
        )
    return replace(
        state,
        answers=answers,
        cohort=replace(state.cohort, values=longer(state.cohort.values, change)),
        baseline=state.baseline.retold(change),
        course=state.course.retold(change),
    )

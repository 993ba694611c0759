"""How ``adaptive_bdp`` goes on with another limit: a new cohort begins, and some of what was known
no longer counts."""

from __future__ import annotations

from schedulers.adaptive.cohort import Cohort
from schedulers.adaptive.pace import Pace
from schedulers.concurrency.adaptive_bdp.concluding import Conclusion
from schedulers.concurrency.adaptive_bdp.state import AdaptiveState
from schedulers.concurrency.adaptive_bdp.tuning import Tuning
from schedulers.concurrency.base import Observation, OutcomeKind
from schedulers.decision import Reason


def refused(tuning: Tuning, state: AdaptiveState, seen: Observation, now: float) -> AdaptiveState:
    """The engine has too much: one cut for all requests sent before it."""
    after = max(float(tuning.min), min(0.85 * state.limit, 0.9 * seen.in_flight))
    return state._replace(
        limit=after,
        cohort=Cohort(state.granted(seen) + 1, now),
        course=state.course.cut(state.limit, after, tuning.hold, None),
        baseline=state.baseline.afresh()._replace(evidence=0.0),
        last_at=now,
        ended=state.ended + 1,
        cut_at=now,
        answers=state.answers._replace(pace=state.answers.pace.afresh(now)),
    )


def resumed(tuning: Tuning, state: AdaptiveState, seen: Observation, now: float) -> AdaptiveState:
    """After a pause the world may have changed: back to what was proven."""
    after = min(state.limit, max(state.course.proven, float(tuning.min)))
    cohort = Cohort(state.granted(seen) + 1, now)
    return state._replace(
        limit=after,
        cohort=cohort,
        baseline=state.baseline.afresh(),
        last_at=now,
        ended=state.ended + (seen.kind is OutcomeKind.OK),
        answers=state.answers._replace(cohort=cohort, pace=Pace(since=now, shown=after)),
    )


def moved(
    tuning: Tuning, state: AdaptiveState, found: Conclusion, seen: Observation, now: float
) -> tuple[AdaptiveState, Reason]:
    """A cohort was read: the limit moves within its bounds, or stands."""
    after, course, baseline, reason = found
    after = max(float(tuning.min), min(float(tuning.max), after))
    if after > state.limit:
        course = course.grown()
        if reason is not Reason.UNDO:
            baseline = baseline.ended(state.sense(tuning))
    if reason is Reason.GROWN and after == state.limit:
        reason = Reason.AT_MAXIMUM
    first = state.granted(seen) + 1
    if state.live and after > state.limit:
        # Those that this lets go at once wait for one another: that is no queue of the limit.
        first += min(seen.waiting, int(after) - int(state.limit))
    answers = state.answers
    if after != state.limit:
        answers = answers._replace(pace=answers.pace.afresh(now))
    return state._replace(
        limit=after,
        cohort=Cohort(first, now),
        course=course,
        baseline=baseline,
        last_at=now,
        cut_at=now if after < state.limit else state.cut_at,
        answers=answers,
    ), reason

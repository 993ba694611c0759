"""What ``adaptive_bdp`` concludes from one reading: where the limit goes, and why."""

from __future__ import annotations

import math
from typing import NamedTuple

from schedulers.adaptive import startup
from schedulers.adaptive.baseline import Baseline, Reading
from schedulers.adaptive.course import Course, Trial, Verdict, climb, verify
from schedulers.concurrency.adaptive_bdp.gathering import REACHED
from schedulers.concurrency.adaptive_bdp.reading import Look
from schedulers.concurrency.adaptive_bdp.state import AdaptiveState
from schedulers.concurrency.adaptive_bdp.tuning import Tuning
from schedulers.decision import Reason

SHALLOWEST = 0.85
"""A cut takes at least this factor."""


class Conclusion(NamedTuple):
    """The limit, before its bounds; what is then known of its course and of the baseline."""

    limit: float
    course: Course
    baseline: Baseline
    reason: Reason


def concluded(tuning: Tuning, state: AdaptiveState, look: Look) -> Conclusion:
    """Verify the last cut, then cut, stand or climb."""
    seen = look.reading
    limit, course, baseline = state.limit, state.course, seen.after
    if course.trial is not None:
        edge = state.sense(tuning).tolerance
        verdict = verify(course.trial, limit, seen, edge, tuning.undo_elasticity)
        if verdict is Verdict.NO_QUEUE:
            moved = baseline.moved(seen.pool, seen.pool_error)
            return Conclusion(course.trial.back, course.undone(), moved, Reason.UNDO)
        if verdict is Verdict.QUEUE:
            course = course._replace(trial=None)
        elif verdict is Verdict.OPEN and seen.congested and course.calm < 3:
            waited = course._replace(calm=course.calm + 1)
            return Conclusion(limit, waited, baseline, Reason.PROBE)
    if state.cohort.peak < REACHED * int(limit):
        return Conclusion(limit, course, baseline, Reason.APP_LIMITED)
    if seen.congested:
        return _cut(tuning, state, course, look)
    if state.answers.pace.elasticity > tuning.pace_elasticity:
        course = course._replace(startup=False)
        return Conclusion(_paid(tuning, state), course, baseline, Reason.NO_GAIN)
    after, course, reason = _climb(tuning, state, course, seen)
    return Conclusion(after, course, baseline, reason)


def _climb(
    tuning: Tuning, state: AdaptiveState, course: Course, seen: Reading
) -> tuple[float, Course, Reason]:
    limit, edge = state.limit, state.sense(tuning).tolerance
    if not state.starting:
        return climb(limit, course, seen, edge, tuning.startup_gain)
    pace = state.answers.pace
    alone = startup.alone(state.waits(), state.elapsed())
    most = startup.shown(tuning.initial, pace, tuning.pace_elasticity, one_by_one=alone)
    return startup.climbed(limit, course, seen, edge, most)


def _paid(tuning: Tuning, state: AdaptiveState) -> float:
    """Where growth ends."""
    if not state.starting:
        return state.limit
    return startup.taken_back(state.limit, state.answers.pace, tuning.pace_elasticity)


def _cut(tuning: Tuning, state: AdaptiveState, course: Course, look: Look) -> Conclusion:
    """Down to where there was no queue, by the baseline or by what was proven before."""
    limit, seen = state.limit, look.reading
    if limit <= tuning.min:
        if course.calm < 4:
            waited = course._replace(calm=course.calm + 1)
            return Conclusion(limit, waited, seen.after, Reason.AT_MINIMUM)
        moved = seen.after.moved(seen.pool, seen.pool_error)
        course = course._replace(calm=0, trial=None)
        return Conclusion(limit, course, moved, Reason.BASELINE_EXPIRED)
    after = limit * math.exp(seen.low - seen.depth) * 1.03
    if course.proven < 0.99 * limit:
        after = max(after, 0.97 * course.proven)
    after = max(float(tuning.min), min(SHALLOWEST * limit, max(tuning.max_cut * limit, after)))
    trial = course.trial
    if trial is None and not look.overdue:
        trial = Trial(limit, seen.depth, seen.depth_error, course.startup)
    baseline = seen.after.afresh()._replace(evidence=0.0)
    course = course.cut(limit, after, tuning.hold, trial)
    return Conclusion(after, course, baseline, Reason.RTT_INFLATED)

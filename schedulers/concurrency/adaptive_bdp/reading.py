"""When a cohort of ``adaptive_bdp`` can be read, and what it reads."""

from __future__ import annotations

import math
from typing import NamedTuple

from schedulers.adaptive.baseline import Reading, read
from schedulers.concurrency.adaptive_bdp.state import AdaptiveState
from schedulers.concurrency.adaptive_bdp.tuning import Tuning

OVERDUE = 0.3
"""How far beyond what congests a median must be to be called so before it is known."""


class Look(NamedTuple):
    """``overdue``: the median is at least what is read, and not known yet."""

    reading: Reading
    overdue: bool = False


def looked(tuning: Tuning, state: AdaptiveState, now: float) -> Look | None:
    """What the cohort shows, once it can be judged."""
    cohort = state.cohort
    if cohort.closed is None:
        return None
    # A value counts the rest that follows the first token; who still waits for it doesn't yet.
    aged = now + (state.answers.rest if state.live else 0.0)
    if cohort.settled(aged):
        return Look(read(state.baseline, cohort.complete(), state.sense(tuning)))
    if _overdue(tuning, state, aged):
        least = [math.log(aged - cohort.closed)] * cohort.size(cohort.first)
        return Look(read(state.baseline, least, state.sense(tuning), overdue=True), overdue=True)
    if state.rtt is not None and cohort.abandoned(now, 8.0 * state.rtt):
        return Look(read(state.baseline, sorted(cohort.values), state.sense(tuning)))
    return None


def _overdue(tuning: Tuning, state: AdaptiveState, now: float) -> bool:
    """Half of a cohort is out for so long that its median, unknown yet, is surely too high."""
    low = state.baseline.low
    if low is None or state.course.trial is not None:
        return False
    size = max(1, state.cohort.size(state.cohort.first))
    error = 1.253 * (state.baseline.spread or OVERDUE) / math.sqrt(size)
    edge = low + state.sense(tuning).tolerance + OVERDUE + tuning.z_cohort * error
    return state.cohort.overdue(now, edge)

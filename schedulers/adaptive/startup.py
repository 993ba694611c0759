"""Start-up of ``adaptive_bdp`` where first tokens are told when they come.

First tokens come long before answers end, so they lead: the limit may double by them. But only
answers tell what more in flight costs in pace, so it never passes twice what they have shown, and a
doubling too many is taken back.
"""

from __future__ import annotations

from schedulers.adaptive.baseline import Reading
from schedulers.adaptive.course import Course, climb
from schedulers.adaptive.pace import Pace
from schedulers.decision import Reason

BEGUN = 10
"""First tokens of a cohort in start-up: latency at once, and not spread as lengths are."""
DOUBLE = 2.0
"""In start-up the limit is at most so many times what answers have shown the pace at."""


def enough(size: int, limit: float, fewest: int, *, reached: bool) -> bool:
    """Whether a cohort of first tokens can be judged: their time is the round trip.

    It takes more while the limit isn't reached, so as to know enough at the moment when it is.
    """
    return size >= (min(fewest, BEGUN, int(limit)) if reached else fewest)


def climbed(
    limit: float, course: Course, seen: Reading, edge: float, most: float
) -> tuple[float, Course, Reason]:
    """First tokens may take the limit only so far, ``most``, before answers tell what it costs."""
    after, course, reason = climb(limit, course, seen, edge, DOUBLE)
    after = max(limit, min(after, most))
    return after, course, Reason.STEADY if after == limit else reason


def taken_back(limit: float, pace: Pace, elasticity: float) -> float:
    """Where growth ends: a doubling too many of start-up is taken back, and nothing else is."""
    return limit * max(1.0 / DOUBLE, min(1.0, pace.room(elasticity)))


def alone(waits: float, elapsed: float) -> bool:
    """Whether first tokens came one by one: their times, summed, over the time that they came in.

    By Little's law that is how many waited for their first token on average; less than one, and
    they hardly waited for one another's prompts.
    """
    return waits < elapsed


def shown(initial: int, pace: Pace, elasticity: float, *, one_by_one: bool) -> float:
    """Twice the load that the pace is known at, and not beyond where growth no longer pays.

    Until answers have shown it, ``initial`` stands for that load where first tokens come one by
    one. In a burst it stays: a pace that is first measured there is too high, and growth would seem
    to pay for ever.
    """
    known = max(float(initial), pace.shown)
    if pace.shown == 0.0 and not one_by_one:
        return known
    if pace.now_peak == 0:
        return known * DOUBLE
    return min(known * DOUBLE, pace.now_peak * pace.room(elasticity))

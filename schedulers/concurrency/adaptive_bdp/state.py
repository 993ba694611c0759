"""The state of ``adaptive_bdp``: what it has seen, and where it stands."""

from __future__ import annotations

import math
from typing import NamedTuple

from schedulers.adaptive.answers import Answers
from schedulers.adaptive.baseline import Baseline, Sense
from schedulers.adaptive.cohort import Cohort
from schedulers.adaptive.course import Course
from schedulers.concurrency.adaptive_bdp.tuning import Tuning
from schedulers.concurrency.base import Observation

IDLE_TRIPS = 20.0
"""So many round trips without an answer are a pause, after which only what was proven holds."""


class AdaptiveState(NamedTuple):
    """``rtt`` is the smoothed latency in seconds, ``ended`` how many observations were counted."""

    limit: float
    cohort: Cohort
    course: Course
    baseline: Baseline = Baseline()
    rtt: float | None = None
    last_at: float | None = None
    ended: int = 0
    cut_at: float | None = None
    answers: Answers = Answers(Cohort(1, 0.0))
    """Of streamed ones only."""
    live: bool = False
    """First tokens are told when they come, not when their answer ends."""
    began_at: float | None = None
    """When the first request started that was heard of."""

    @property
    def starting(self) -> bool:
        """In start-up, led by first tokens."""
        return self.live and self.course.startup

    def sense(self, tuning: Tuning) -> Sense:
        """How sharply to look at the present limit."""
        return tuning.sense(self.limit, startup=self.course.startup)

    def waits(self) -> float:
        """Seconds that the cohort's members waited for their first tokens, summed."""
        rest = self.answers.rest
        return sum(math.exp(value) - rest for value in self.cohort.values)

    def elapsed(self) -> float:
        """Seconds that its first tokens came in."""
        if self.began_at is None or self.last_at is None:
            return 0.0
        return self.last_at - max(self.began_at, self.cohort.opened)

    def granted(self, seen: Observation) -> int:
        """Permits granted up to now; a host that doesn't count them has granted what ended or
        runs."""
        return seen.granted or self.ended + seen.in_flight

    def after_pause(self, seen: Observation) -> bool:
        """Nothing was answered for so long that the world may have changed."""
        last = seen.started_at if self.last_at is None else self.last_at
        return self.rtt is not None and seen.started_at - last > IDLE_TRIPS * self.rtt

    def lost(self, seen: Observation) -> AdaptiveState:
        """A request ended that tells nothing: a member is missing, unless its first token is known
        already."""
        cohort = self.cohort if seen.told else self.cohort.without(seen)
        return self._replace(
            cohort=cohort, ended=self.ended + 1, answers=self.answers.without(seen)
        )

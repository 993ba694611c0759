"""The course of a limit: what was proven, where it met a queue, and whether a cut helped."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from schedulers.adaptive.baseline import Reading
from schedulers.adaptive.longer import longer
from schedulers.decision import Reason

PRECISE = 0.1
"""Standard error of a median above which growth does not speed up."""


class Trial(NamedTuple):
    """A cut to be verified: the limit before it, the median then, and that median's error."""

    back: float
    value: float
    error: float
    startup: bool


class Verdict(StrEnum):
    """What a trial has shown up to now."""

    QUEUE = "queue"
    NO_QUEUE = "no_queue"
    OPEN = "open"
    DEEPER = "deeper"
    """Latency stood still, but the cut was too small for so large a rise."""


def verify(
    trial: Trial, limit: float, seen: Reading, tolerance: float, elasticity: float
) -> Verdict:
    """Elasticity: the relative fall of latency for the relative fall of the limit.

    A queue shrinks with the limit (1 or more past the knee; a share's worth where others queue
    too); a longer route or longer work doesn't (0). A rise by s asks for a cut by s / 2 (at most
    half in logarithms) before it is believed: deep in overload latency may stand still.
    """
    fall = math.log(trial.back / limit)
    found = (trial.value - seen.pool) / fall if fall > 0.01 else 1.0
    unsure = math.hypot(seen.pool_error, trial.error) / max(fall, 0.01)
    rise = seen.pool - seen.low
    known = unsure <= elasticity or seen.full
    if known and found < elasticity and rise > tolerance:
        return Verdict.NO_QUEUE if fall >= min(0.5, rise / 2) else Verdict.DEEPER
    if unsure <= elasticity or found - 1.5 * unsure > elasticity:
        return Verdict.QUEUE
    return Verdict.OPEN


class Course(NamedTuple):
    """``proven``: the largest limit seen healthy since the last cut. ``resume``: where the last cut
    went; ``ceiling``: whence. ``hold``, ``calm`` and ``streak`` count cohorts and steps."""

    proven: float
    startup: bool = True
    resume: float | None = None
    ceiling: float | None = None
    trial: Trial | None = None
    hold: int = 0
    calm: int = 0
    streak: int = 0

    def cut(self, before: float, after: float, hold: int, trial: Trial | None) -> Course:
        """A queue was met at ``before``."""
        return Course(
            proven=min(self.proven, after),
            startup=False,
            resume=after,
            ceiling=before,
            trial=trial,
            hold=hold,
        )

    def undone(self) -> Course:
        """It was no queue: nothing is known of a ceiling, and time was lost."""
        startup = self.trial is not None and self.trial.startup
        return Course(proven=self.proven, startup=startup, calm=self.calm, streak=2)

    def retold(self, change: float) -> Course:
        """The same course where each latency is longer by so many seconds."""
        if self.trial is None:
            return self
        (value,) = longer((self.trial.value,), change)
        return self._replace(trial=self.trial._replace(value=value))

    def grown(self) -> Course:
        """At a higher limit the last cut can no longer be judged."""
        return self._replace(trial=None) if self.trial is not None else self

    def due(self) -> bool:
        """Time for a step: each second cohort, each one in a streak, none while held."""
        return self.hold == 0 and (self.streak >= 2 or self.calm % 2 == 0)

    def step(self, limit: float, error: float) -> tuple[float, Course]:
        """One step up; steps grow in a streak, as long as medians are precise.

        Just below the ceiling there is no streak: that is where the queue was.
        """
        base = max(1.0, 0.15 * math.sqrt(limit))
        step = min(base * min(6.0, 1.5 ** (self.streak // 2)), max(1.0, 0.08 * limit))
        near = self.ceiling is not None and 0.85 * self.ceiling <= limit < 0.98 * self.ceiling
        streak = 0 if near or error > PRECISE else self.streak + 1
        return limit + step, self._replace(streak=streak)


def climb(
    limit: float, course: Course, seen: Reading, tolerance: float, gain: float
) -> tuple[float, Course, Reason]:
    """No queue, and the limit was reached: where to, and why."""
    if seen.clean:
        course = course._replace(proven=max(course.proven, limit))
    if course.startup:
        if seen.clean:
            return limit * gain, course, Reason.GROWN
        unsure = seen.pool_error > 0.5 * tolerance
        return limit, course._replace(startup=unsure), Reason.STEADY
    course = course._replace(calm=course.calm + 1, hold=max(0, course.hold - 1))
    if course.resume is not None and limit < 0.97 * course.resume:
        after = min(course.resume, limit + max(1.0, 0.08 * limit))
        return after, course, Reason.GROWN
    if seen.clean and course.due():
        after, course = course.step(limit, seen.pool_error)
        return after, course, Reason.GROWN
    return limit, course, Reason.STEADY

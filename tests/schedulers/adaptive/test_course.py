"""The course of a limit: verdicts on cuts, and steps that know where the queue was."""

from __future__ import annotations

import math

import pytest

from schedulers.adaptive.baseline import Baseline, Reading
from schedulers.adaptive.course import Course, Trial, Verdict, climb, verify
from schedulers.decision import Reason

TOLERANCE = math.log(1.06)


def reading(pool: float, *, error: float = 0.01, clean: bool = True) -> Reading:
    return Reading(
        after=Baseline(),
        low=0.0,
        value=pool,
        error=error,
        pool=pool,
        pool_error=error,
        full=False,
        congested=not clean,
        clean=clean,
        depth=pool,
        depth_error=error,
    )


@pytest.mark.parametrize(
    ("before", "now", "error", "verdict"),
    [
        pytest.param(0.4, 0.4, 0.01, Verdict.NO_QUEUE, id="latency stood still"),
        pytest.param(0.4, 0.0, 0.01, Verdict.QUEUE, id="latency fell with the limit"),
        pytest.param(0.4, 0.4, 0.3, Verdict.OPEN, id="too noisy to tell"),
        pytest.param(0.4, 0.25, 0.01, Verdict.QUEUE, id="fell by a share of the limit's fall"),
        pytest.param(2.0, 2.0, 0.01, Verdict.DEEPER, id="so large a rise asks for a deeper cut"),
        pytest.param(0.04, 0.04, 0.01, Verdict.QUEUE, id="within the tolerance"),
    ],
)
def test_a_cut_is_judged_by_what_latency_did(
    before: float, now: float, error: float, verdict: Verdict
) -> None:
    trial = Trial(60.0, before, error, startup=False)
    assert verify(trial, 40.0, reading(now, error=error), TOLERANCE, 0.15) is verdict


def test_an_undone_cut_forgets_the_ceiling_and_resumes_start_up_where_it_was() -> None:
    cut = Course(8.0).cut(60.0, 40.0, 4, Trial(60.0, 0.4, 0.01, startup=True))
    assert (cut.startup, cut.ceiling, cut.hold) == (False, 60.0, 4)
    undone = cut.undone()
    assert (undone.startup, undone.ceiling, undone.hold, undone.trial) == (True, None, 0, None)


def test_start_up_multiplies_and_ends_when_precise_medians_show_a_little_queue() -> None:
    after, _, reason = climb(8.0, Course(8.0), reading(0.0), TOLERANCE, 1.25)
    assert (after, reason) == (10.0, Reason.GROWN)
    _, course, _ = climb(8.0, Course(8.0), reading(0.05, clean=False), TOLERANCE, 1.25)
    assert not course.startup
    unsure = reading(0.05, error=0.1, clean=False)
    assert climb(8.0, Course(8.0), unsure, TOLERANCE, 1.25)[1].startup


def test_what_a_cut_took_too_much_comes_back_fast_and_the_rest_waits_for_the_hold() -> None:
    course = Course(40.0, startup=False)._replace(resume=40.0, ceiling=60.0, hold=2)
    assert climb(30.0, course, reading(0.0), TOLERANCE, 1.25)[0] == pytest.approx(32.4)
    after, course, reason = climb(40.0, course, reading(0.0), TOLERANCE, 1.25)
    assert (after, course.hold, reason) == (40.0, 1, Reason.STEADY)


def test_steps_grow_in_a_streak_but_not_just_below_the_ceiling_nor_in_noise() -> None:
    limit, course = 40.0, Course(40.0, startup=False)
    steps = []
    for _ in range(8):
        after, course = course.step(limit, 0.02)
        steps.append(after - limit)
    assert steps[0] == 1.0
    assert steps == sorted(steps)
    assert steps[-1] == pytest.approx(0.08 * limit)
    near = course._replace(ceiling=45.0)
    assert near.step(limit, 0.02)[1].streak == 0
    assert course.step(limit, 0.2)[1].streak == 0
    assert near.step(46.0, 0.02)[1].streak == course.streak + 1

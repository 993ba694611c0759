"""How long answers take after their first token: known soon, then better, and only ever less."""

from __future__ import annotations

import math

import pytest

from schedulers.adaptive.answers import FIRST, Answers
from schedulers.adaptive.cohort import Cohort
from schedulers.concurrency.base import Observation


def ended(answers: Answers, serials: range, rest: float, now: float) -> Answers:
    for serial in serials:
        seen = Observation(started_at=now - rest, in_flight=8, serial=serial, granted=99)
        answers = answers.ended(seen, rest, 50, now, 8)
    return answers


def test_before_an_answer_has_ended_those_that_are_out_bound_it_from_below() -> None:
    answers = Answers(Cohort(1, 0.0)).judged(FIRST, 1.0, 16)
    assert answers.rest == 0.0
    answers = answers.judged(20, 2.5, 16)
    assert (answers.rest, answers.known) == (1.5, False)
    answers = ended(answers, range(1, FIRST + 1), 2.0, 4.0).judged(20, 4.0, 16)
    assert answers.known
    assert answers.rest == pytest.approx(2.0)


def test_a_lower_rest_is_taken_over_and_a_higher_one_is_not() -> None:
    answers = ended(Answers(Cohort(1, 0.0)), range(1, 9), 2.0, 4.0).judged(8, 4.0, 16)
    for rest, expected in ((3.0, 2.0), (1.9, 2.0), (1.0, 1.0)):
        first = answers.cohort.first
        last = first + 15
        answers = answers.judged(last, 5.0, 16)
        answers = ended(answers, range(first, last + 1), rest, 20.0).judged(last, 20.0, 16)
        assert answers.rest == pytest.approx(expected)


def test_a_request_that_failed_is_missed_by_nobody() -> None:
    answers = Answers(Cohort(1, 0.0)).judged(FIRST, 1.0, 16)
    for serial in range(1, 5):
        answers = answers.without(Observation(started_at=0.5, in_flight=8, serial=serial))
    answers = ended(answers, range(5, FIRST + 1), 2.0, 9.0).judged(20, 9.0, 16)
    assert answers.known
    assert math.isfinite(answers.rest)

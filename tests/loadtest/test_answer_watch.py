"""Which answers are doubted for a stall of the client, by who stamps their tokens."""

from __future__ import annotations

import pytest

from loadtest.answer_watch import AnswerWatch
from loadtest.runclock import RunClock
from measurement.doubted import Stall
from measurement.outcome import Outcome
from measurement.sample import Sample

ORIGIN = 100.0


def answer(first: float, *gaps: float, outcome: Outcome = Outcome.OK) -> Sample:
    last = first + sum(gaps)
    return Sample(0, "acme", 0.0, outcome, first_token_at=first, last_token_at=last, gaps=gaps)


def watching(*, stamped: bool, most: float = 0.005) -> AnswerWatch:
    """Over a client that stood still from 1.0 to 1.4 s of the run."""

    def stalls(since: float, until: float) -> list[Stall]:
        stall = (ORIGIN + 1.0, ORIGIN + 1.4)
        return [stall] if since <= stall[1] and until >= stall[0] else []

    return AnswerWatch(RunClock(lambda: ORIGIN), stalls, most=most, stamped=stamped)


@pytest.mark.parametrize(
    ("stamped", "first", "gap", "late"),
    [
        (True, 1.2, 0.0, True),
        (True, 1.2, 0.02, False),  # not joined, so it has its own time
        (False, 1.2, 0.02, True),
        (False, 1.401, 0.02, True),  # read in the turn after the stall
        (False, 1.5, 0.02, False),
        (False, 0.9, 0.02, False),
    ],
)
def test_a_first_token_is_doubted_where_its_time_may_be_that_of_the_reading(
    stamped: bool, first: float, gap: float, late: bool
) -> None:
    watch = watching(stamped=stamped)
    watch.take(answer(first, gap, 0.02))
    assert (watch.firsts.answers, watch.firsts.doubted) == (1, int(late))


def test_a_first_token_may_be_as_late_as_its_objective_lets_it() -> None:
    watch = watching(stamped=False, most=0.25)
    watch.take(answer(1.2, 0.02))
    watch.take(answer(1.3, 0.02))
    assert (watch.firsts.answers, watch.firsts.doubted) == (2, 1)
    assert watch.firsts.error == pytest.approx(0.3)


def test_gaps_are_doubted_beside_it_and_failures_never() -> None:
    watch = watching(stamped=True)
    watch.take(answer(0.9, 0.02, 0.34, 0.0, 0.02))
    watch.take(answer(1.2, 0.0, outcome=Outcome.INCOMPLETE))
    assert (watch.gaps.answers, watch.gaps.doubted) == (1, 1)
    assert (watch.firsts.answers, watch.firsts.doubted) == (1, 0)

"""Cohorts: membership by start, and a median that unfinished requests can't bend."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedulers.adaptive.cohort import UNFINISHED, Cohort, median, surely_above
from schedulers.concurrency.base import Observation


def answer(serial: int = 0, started_at: float = 0.0, in_flight: int = 5) -> Observation:
    return Observation(started_at=started_at, in_flight=in_flight, latency=1.0, serial=serial)


def filled(values: list[float], *, size: int, closed: float = 10.0) -> Cohort:
    return Cohort(1, 0.0, size, closed, tuple(values))


def test_members_are_told_by_serial_so_ties_in_time_change_nothing() -> None:
    cohort = Cohort(5, opened=2.0).close(8, now=2.0)
    assert [cohort.holds(answer(serial, started_at=2.0)) for serial in (4, 5, 8, 9)] == [
        False,
        True,
        True,
        False,
    ]


def test_without_serials_the_span_tells_them() -> None:
    cohort = Cohort(5, opened=2.0).close(8, now=3.0)
    assert [cohort.holds(answer(0, at)) for at in (1.9, 2.0, 2.9, 3.0)] == [
        False,
        True,
        True,
        False,
    ]


def test_others_answers_show_the_peak_and_no_latency() -> None:
    cohort = Cohort(5, opened=2.0).with_answer(answer(1, in_flight=9), 0.3, streamed=False)
    assert (cohort.values, cohort.peak) == ((), 9)
    cohort = cohort.with_answer(answer(5, in_flight=3), 0.3, streamed=False)
    assert (cohort.values, cohort.peak) == ((0.3,), 9)


def test_a_member_that_failed_is_not_waited_for() -> None:
    cohort = Cohort(1, 0.0).without(answer(2)).without(answer(99)).close(10, 1.0)
    assert cohort.size(10) == 8
    closed = Cohort(1, 0.0, 10, 1.0).without(answer(99))
    assert closed.size(10) == 10


def test_it_settles_once_what_is_out_is_older_than_its_median() -> None:
    cohort = filled([0.0] * 7, size=10, closed=10.0)
    assert not cohort.settled(10.5)
    assert cohort.settled(11.0)
    assert not filled([0.0] * 5, size=10).settled(99.0)


def test_the_unfinished_stand_above_the_rest() -> None:
    assert filled([0.3, 0.1], size=3).complete() == [0.1, 0.3, UNFINISHED]


def test_times_to_first_token_say_nothing_of_who_is_unfinished() -> None:
    cohort = Cohort(1, 0.0, 10, 5.0, (0.2,) * 6, streamed=True)
    assert cohort.settled(5.0)
    assert len(cohort.complete()) == 6
    assert not cohort.overdue(1e9, 0.0)


def test_it_is_overdue_when_half_is_out_for_longer_than_a_median_may_be() -> None:
    cohort = filled([0.0] * 4, size=10, closed=10.0)
    assert not cohort.overdue(11.9, math.log(2.0))
    assert cohort.overdue(12.1, math.log(2.0))
    assert not filled([0.0] * 5, size=10).overdue(99.0, 0.0)


def test_members_that_never_come_back_are_given_up() -> None:
    cohort = filled([0.0], size=10, closed=10.0)
    assert not cohort.abandoned(13.0, wait=1.0)
    assert not cohort.abandoned(99.0, wait=100.0)
    assert cohort.abandoned(15.0, wait=1.0)


@pytest.mark.parametrize("sigma", [0.1, 0.6])
def test_the_spread_is_the_standard_deviation_of_a_normal_law(sigma: float) -> None:
    from statistics import NormalDist

    normal = NormalDist(0.5, sigma)
    ordered = [normal.inv_cdf((i + 0.5) / 1001) for i in range(1001)]
    found = median(ordered)
    assert found.value == pytest.approx(0.5)
    assert found.spread == pytest.approx(sigma, rel=0.02)
    assert found.error(sigma) == pytest.approx(1.253 * sigma / math.sqrt(1001))


@given(st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=200), st.floats(0.0, 5.0))
def test_the_rank_bound_is_a_value_at_or_under_the_median(values: list[float], z: float) -> None:
    ordered = sorted(values)
    assert surely_above(ordered, z) in ordered
    assert surely_above(ordered, z) <= median(ordered).value


def test_a_minority_of_long_requests_is_surely_no_queue() -> None:
    ordered = [0.0] * 4 + [1.4] * 6
    assert median(ordered).value == 1.4
    assert surely_above(ordered, 3.3) == 0.0

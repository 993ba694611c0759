"""The pace of streamed answers: what one more in flight costs is read off two points."""

from __future__ import annotations

import math

import pytest

from schedulers.adaptive.longer import longer
from schedulers.adaptive.pace import Pace


def after(*cohorts: tuple[int, float]) -> Pace:
    """Cohorts of answers of 101 tokens: (peak in flight, seconds a token)."""
    pace = Pace()
    for peak, seconds in cohorts:
        for _ in range(10):
            pace = pace.seen(peak, 100 * seconds, 101, 1e3)
        pace = pace.ended(1e3)._replace(since=0.0)
    return pace


def test_steps_of_a_constant_and_a_share_each_have_an_elasticity() -> None:
    at_40 = after((8, 0.016), (40, 0.016 + 0.001 * 32), (40, 0.016 + 0.001 * 32))
    assert after((8, 0.016)).elasticity == 0.0
    assert at_40.elasticity == pytest.approx(0.04 / 0.048, rel=0.2)
    assert after((8, 0.016), (40, 0.0161)).elasticity < 0.05


def test_peaks_that_are_alike_tell_nothing() -> None:
    assert after((8, 0.01), (9, 0.03)).elasticity == 0.0


def test_lengths_play_no_part_where_they_are_known() -> None:
    pace = Pace()
    for tokens in (11, 51, 101, 401) * 3:
        pace = pace.seen(8, 0.02 * (tokens - 1), tokens, 100.0)
    assert pace.ended(100.0).low == pytest.approx(0.02)


def test_few_answers_and_those_of_one_token_have_no_pace_but_show_the_load() -> None:
    for rest, tokens in ((0.0, 1), (1.0, 11)):
        pace = Pace().seen(7, rest, tokens, 9.0).ended(9.0)
        assert (pace.low, pace.now, pace.elasticity, pace.shown) == (None, None, 0.0, 7.0)


def test_an_answer_said_mostly_before_the_load_changed_tells_nothing_of_it() -> None:
    pace = Pace().afresh(10.0)
    assert pace.seen(20, 4.0, 101, 11.0) == pace
    assert pace.seen(20, 4.0, 101, 13.0).values == (0.04,)


def test_the_room_leads_to_the_elasticity_that_was_asked_for() -> None:
    at_20 = after((8, 0.010 + 0.001 * 8), (20, 0.010 + 0.001 * 20), *[(20, 0.03)] * 8)
    room = at_20.room(0.75)
    there = 0.001 * 20 * room / (0.010 + 0.001 * 20 * room)
    assert there == pytest.approx(0.75, abs=0.03)
    assert after((8, 0.016)).room(0.5) == math.inf


def test_latencies_are_told_anew_with_a_constant_added_and_back() -> None:
    told = longer((0.0, -1.0), 2.0)
    assert longer(told, -2.0) == pytest.approx((0.0, -1.0))
    assert longer((0.0,), -5.0)[0] < -10

"""The pace of streamed answers: what one more in flight costs is read off two points."""

from __future__ import annotations

import pytest

from schedulers.longer import longer
from schedulers.pace import Pace


def after(*cohorts: tuple[int, float]) -> Pace:
    """Cohorts of answers of 101 tokens: (peak in flight, seconds a token)."""
    pace = Pace()
    for peak, seconds in cohorts:
        for _ in range(10):
            pace = pace.seen(100 * seconds, 101)
        pace = pace.ended(peak)
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
        pace = pace.seen(0.02 * (tokens - 1), tokens)
    assert pace.ended(8).low == pytest.approx(0.02)


def test_few_answers_and_none_streamed_change_nothing() -> None:
    assert Pace().seen(0.0, 1) == Pace()
    assert Pace().seen(1.0, 11).ended(9) == Pace()


def test_latencies_are_told_anew_with_a_constant_added_and_back() -> None:
    told = longer((0.0, -1.0), 2.0)
    assert longer(told, -2.0) == pytest.approx((0.0, -1.0))
    assert longer((0.0,), -5.0)[0] < -10

"""A machine's clock: the true offset lies within what is stated, whatever the ways took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.machine_clock import MOST_OFF, RATE, Exchange, MachineClock, Reading, read

ROUNDING = 1e-9
"""Seconds: doubles of a million seconds are no finer."""
delays = st.floats(0.0, 5.0)
offsets = st.floats(-1e6, 1e6)
rates = st.floats(-RATE, RATE)


def exchange(  # a true exchange, on a machine whose clock shows at + offset + rate * at
    at: float, there: float, thinking: float, back: float, *, offset: float, rate: float
) -> Exchange:
    arrived, left = at + there, at + there + thinking
    heard, answered = (when * (1 + rate) + offset for when in (arrived, left))
    return Exchange(at, heard, answered, left + back)


@given(delays, delays, delays, offsets, rates, st.floats(0.0, 1.0))
def test_the_true_offset_is_within_what_is_stated_for_any_delays(
    there: float, thinking: float, back: float, offset: float, rate: float, moment: float
) -> None:
    seen = exchange(0.0, there, thinking, back, offset=offset, rate=rate)
    truth = offset + rate * moment * (there + thinking + back)
    assert abs(seen.offset - truth) <= seen.within + ROUNDING


@given(st.lists(st.tuples(delays, delays), min_size=1, max_size=16), offsets)
def test_of_several_exchanges_the_surest_counts(
    ways: list[tuple[float, float]], offset: float
) -> None:
    seen = [exchange(9.0, there, 0.0, back, offset=offset, rate=0.0) for there, back in ways]
    found = read(seen)
    assert abs(found.offset - offset) <= found.within + ROUNDING
    assert found.within <= min(one.within for one in seen)
    assert found.rounds == len(ways)


def test_all_the_asymmetry_there_can_be_just_fills_the_bound() -> None:
    seen = exchange(0.0, 0.020, 0.0, 0.0, offset=3.0, rate=0.0)
    assert seen.offset - 3.0 == pytest.approx(0.010)
    assert seen.within == pytest.approx(0.010 + 2 * RATE * 0.020)


@pytest.mark.parametrize(
    ("first", "last", "fine"),
    [
        (Reading(5.0, 0.009, 0.018, 16), None, True),
        (Reading(5.0, 0.011, 0.022, 16), None, False),
        (Reading(5.0, 0.001, 0.002, 16), Reading(5.004, 0.005, 0.010, 16), True),
        (Reading(5.0, 0.001, 0.002, 16), Reading(4.994, 0.005, 0.010, 16), False),
    ],
)
def test_a_clock_that_may_be_off_by_more_than_a_late_request_makes_the_result_invalid(
    first: Reading, last: Reading | None, fine: bool
) -> None:
    clock = MachineClock(first, last)
    assert (clock.doubt("Machine b") == "") is fine
    assert fine is (clock.off_by <= MOST_OFF)
    if not fine:
        assert "11.0 ms off the schedule" in clock.doubt("Machine b")

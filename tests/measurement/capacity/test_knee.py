"""The knee: found where it is, with an interval over repeats; and what it is good for."""

from __future__ import annotations

import pytest

from measurement.capacity.instances import headroom, needed, slo_load
from measurement.capacity.knee import Knee, RepeatedKnee, find, over_repeats
from measurement.capacity.observed import Observed


def point(rate: float, capacity: float = 40.0, *, refuses: bool = False) -> Observed:
    """A server that follows up to its capacity and queues, or refuses, from there on."""
    served = min(rate, capacity)
    wait = 0.0 if refuses else max(0.0, rate - 0.9 * capacity)
    return Observed(rate, served, attainment=served / rate, latency=0.1 + wait)


def ladder(capacity: float = 40.0, *, refuses: bool = False) -> list[Observed]:
    return [point(rate, capacity, refuses=refuses) for rate in (10, 20, 30, 40, 50, 60)]


def test_the_knee_lies_where_throughput_stops_following() -> None:
    found = find(ladder())
    assert found.load == pytest.approx(42.5)
    assert "latency has left its floor" in found.because
    assert found.floor == 0.1


def test_what_is_only_slower_is_no_knee_yet() -> None:
    slow = [Observed(rate, rate, latency=rate / 100) for rate in (10.0, 20.0, 40.0)]
    assert find(slow).load is None
    assert "still follows" in find(slow).because


def test_an_engine_that_refuses_has_a_knee_at_a_low_latency() -> None:
    found = find(ladder(refuses=True))
    assert found.load == pytest.approx(42.5)
    assert "refused" in found.because


def test_a_noisy_rung_at_the_foot_is_no_knee() -> None:
    noisy = ladder()
    noisy[0] = Observed(10, 9.0, latency=0.1)
    assert find(noisy).load == pytest.approx(42.5)


def test_a_ladder_that_begins_past_the_knee_says_so() -> None:
    found = find(ladder(capacity=5.0))
    assert found.load is None
    assert "lowest load is past" in found.because


def test_two_loads_make_no_knee() -> None:
    assert "three loads" in find(ladder()[:2]).because


def test_repeats_give_students_interval() -> None:
    found = over_repeats([ladder(capacity) for capacity in (38.0, 40.0, 42.0)])
    assert found.load == pytest.approx(42.2, abs=1.5)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.load < found.high
    assert found.recommended == (
        pytest.approx(0.7 * found.load),
        pytest.approx(0.8 * found.load),
    )


def test_a_repeat_without_a_knee_leaves_the_interval_open() -> None:
    found = over_repeats([ladder(), ladder(), ladder(100.0)])
    assert (found.low, found.high) == (None, None)
    assert "in 1 of 3 repeats" in found.because


def known(load: float, low: float | None = None, high: float | None = None) -> RepeatedKnee:
    return RepeatedKnee(load, low, high, (Knee(load, "x"),), "x")


def test_instances_are_counted_at_the_recommended_share_with_the_knees_interval() -> None:
    found = needed(100.0, knee=known(40.0, 32.0, 48.0), share=0.75)
    assert (found.low, found.needed, found.high) == (3, 4, 5)
    assert found.each == pytest.approx(30)
    assert "75 % of the knee" in found.because


def test_an_slo_that_holds_less_decides() -> None:
    found = needed(100.0, knee=known(40.0), slo=20.0)
    assert found.needed == 5
    assert "the SLO holds up to 20" in found.because


def test_without_a_bound_no_number_is_made_up() -> None:
    found = needed(100.0, knee=RepeatedKnee(None, None, None, (), "nothing ran"))
    assert found.needed is None
    assert "nothing ran" in found.because


def test_the_slos_load_is_interpolated_and_never_beyond_a_miss() -> None:
    shares = ((10, 1.0), (20, 0.98), (30, 0.90), (40, 0.99))
    points = [Observed(rate, rate, attainment=share) for rate, share in shares]
    assert slo_load(points, 0.94) == pytest.approx(25)
    assert slo_load(points, 0.5) == 40
    assert slo_load(points[2:], 0.95) is None


def test_headroom_is_what_is_left_of_the_knee() -> None:
    assert headroom(30, 40) == pytest.approx(0.25)
    assert headroom(50, 40) == pytest.approx(-0.25)

"""Who runs where and when."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.problem import DocumentError
from measurement.comparison.assignment import Arm, Design, Timetable, draw, slot_length

designs = st.sampled_from(Design)
seeds = st.integers(0, 2**63 - 1)
tables = st.builds(
    Timetable,
    designs,
    seeds,
    st.floats(2, 100),
    st.floats(0, 1.5),
    st.floats(0.02, 0.5),
)


def test_a_draw_means_the_same_for_ever() -> None:
    assert "".join(draw(7, k, Design.LANES) for k in range(16)) == "PPPPPPPQPPQPQPPQ"
    assert [draw(7, k, Design.SWITCHBACK) for k in (6, 7)] == ["AB", "BA"]


@given(seeds, st.integers(0, 10**6))
def test_both_designs_read_the_same_coin(seed: int, block: int) -> None:
    lane, order = draw(seed, block, Design.LANES), draw(seed, block, Design.SWITCHBACK)
    assert (lane == "P") is (order == "AB")


def test_draws_are_fair_and_independent_within_a_seed_and_between_seeds() -> None:
    coins = np.array([[draw(s, k, Design.LANES) == "P" for k in range(500)] for s in range(40)])
    assert abs(coins.mean() - 0.5) < 4 * 0.5 / np.sqrt(coins.size)
    signs = 2.0 * coins - 1
    assert abs((signs[:, 1:] * signs[:, :-1]).mean()) < 4 / np.sqrt(coins.size)
    assert abs((signs[1:] * signs[:-1]).mean()) < 4 / np.sqrt(coins.size)


def test_a_slot_is_as_long_as_the_slowest_of_three_needs_and_its_washout() -> None:
    assert slot_length(washout=4, floor=30, median_e2e=2, rate=100) == 34
    assert slot_length(washout=4, floor=30, median_e2e=8, rate=100) == 44
    assert slot_length(washout=4, floor=30, median_e2e=2, rate=0.5) == 84


@pytest.mark.parametrize(("floor", "rate"), [(0.5, 1.0), (30.0, 0.0)])
def test_a_slot_without_load_or_under_a_second_is_refused(floor: float, rate: float) -> None:
    with pytest.raises(ValueError, match="floor of at least 1 s"):
        slot_length(washout=0, floor=floor, median_e2e=1, rate=rate)


def test_lanes_run_both_arms_at_once_and_swap_as_drawn() -> None:
    table = Timetable(Design.LANES, seed=7, length=34, washout=4)
    for block in range(10):
        a, b = table.slots(block)
        assert (a.arm, b.arm) == (Arm.BASELINE, Arm.CANDIDATE)
        assert b.lane == table.order(block)
        assert {a.lane, b.lane} == {"P", "Q"}
        assert (a.start, a.counts_from, a.end) == (34 * block, 34 * block + 4, 34 * block + 34)


def test_a_switchback_gives_the_candidate_its_share_of_time() -> None:
    table = Timetable(Design.SWITCHBACK, seed=7, length=30, washout=5, weight=0.1)
    assert table.cycle == pytest.approx(300)
    first, second = table.slots(7)
    assert (first.arm, second.arm) == (Arm.CANDIDATE, Arm.BASELINE)
    assert (first.end, second.start) == (2130, 2130)
    assert table.slot_at(2200.0) is None


@given(tables, st.floats(0, 1e4))
def test_a_request_belongs_to_the_slot_of_its_intended_start_or_to_none(
    table: Timetable, at: float
) -> None:
    for lane in "PQ":
        slot = table.slot_at(at, lane)
        near = range(max(0, int(at / table.cycle) - 2), int(at / table.cycle) + 3)
        holding = [
            s
            for k in near
            for s in table.slots(k)
            if s.lane == lane and s.counts_from <= at < s.end
        ]
        assert holding == ([] if slot is None else [slot])


@given(tables, st.integers(0, 1000))
def test_slots_of_a_block_are_equal_and_never_overlap_on_a_lane(
    table: Timetable, block: int
) -> None:
    one, two = table.slots(block)
    assert {one.arm, two.arm} == set(Arm)
    assert one.end - one.start == pytest.approx(two.end - two.start)
    if one.lane == two.lane:
        assert one.end <= two.start
    assert table.ends(block) <= table.slots(block + 1)[0].start + 1e-6


def test_a_washout_as_long_as_its_slot_and_a_weight_over_half_are_refused() -> None:
    with pytest.raises(DocumentError, match=r"washout.*weight"):
        Timetable(Design.LANES, 1, length=5, washout=5, weight=0.6)

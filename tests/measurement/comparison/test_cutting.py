"""Samples to blocks."""

from __future__ import annotations

import pytest

from measurement.comparison.assignment import Arm, Design, Timetable
from measurement.comparison.criterion import Criterion
from measurement.comparison.cutting import Cutter
from measurement.sample import Sample
from tests.measurement.builders import answered

CRITERIA = (Criterion.parse({"kind": "attainment"}),)


def cutter(design: Design, weight: float = 0.5) -> Cutter:
    table = Timetable(design, seed=7, length=10, washout=2, weight=weight)
    return Cutter(table, None, CRITERIA, {arm: arm.value for arm in Arm}, {"P": "e", "Q": "f"})


def steady(until: int) -> list[Sample]:
    return [answered(k, at=k / 2) for k in range(2 * until)]


def test_on_lanes_each_lane_counts_for_the_arm_that_was_drawn() -> None:
    cut = cutter(Design.LANES)
    found = cut.blocks({"P": steady(80), "Q": steady(80)[::2]}, 8)
    for index, block in enumerate(found):
        on_p, on_q = (16, 8)
        expected = (on_q, on_p) if block.order == "P" else (on_p, on_q)
        assert (block.baseline.scheduled, block.candidate.scheduled) == expected
        lane = block.order
        assert block.candidate.engines == {"e" if lane == "P" else "f"}
        assert block.candidate.policies == {"candidate"}
        assert (block.index, block.ended_at) == (index, 10 * (index + 1))


def test_in_a_switchback_the_washout_and_the_rest_are_left_out() -> None:
    cut = cutter(Design.SWITCHBACK, weight=0.25)
    found = cut.blocks({"P": steady(40 * 4)}, 3)
    assert [block.ended_at for block in found] == [20, 60, 100]
    for block in found:
        assert (block.baseline.scheduled, block.candidate.scheduled) == (16, 16)


def test_a_replay_at_the_same_offsets_in_each_slot_is_the_same_stimulus() -> None:
    table = Timetable(Design.SWITCHBACK, seed=7, length=10, washout=2)
    cut = Cutter(table, None, CRITERIA, {arm: arm.value for arm in Arm}, {})
    samples = [
        answered(k, at=slot.start + k)
        for block in range(3)
        for slot in table.slots(block)
        for k in range(10)
    ]
    for block in cut.blocks({"P": samples}, 3):
        assert block.baseline.stimulus == block.candidate.stimulus
        assert block.baseline.scheduled == 8


def test_blocks_without_any_sample_are_there_and_empty() -> None:
    found = cutter(Design.LANES).blocks({"P": [], "Q": []}, 2)
    assert [block.baseline.scheduled for block in found] == [0, 0]
    assert found[0].difference("attainment") is None


def test_a_policy_must_be_named_for_both_arms() -> None:
    table = Timetable(Design.LANES, seed=7, length=10, washout=2)
    with pytest.raises(KeyError):
        Cutter(table, None, CRITERIA, {Arm.BASELINE: "b"}, {}).blocks({"P": steady(9)}, 1)

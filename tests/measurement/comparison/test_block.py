"""Counts of a block, and how samples become them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.canonical import canonical
from measurement.comparison.block import ArmCounts, Block, Count, count_arm
from measurement.comparison.criterion import Criterion
from measurement.outcome import Outcome
from measurement.slo import judge
from tests.measurement.builders import answered, failed, sample_lists, slo
from tests.measurement.comparison.builders import BASELINE, arm, block, plan

CRITERIA = tuple(
    Criterion.parse(given)
    for given in (
        {"kind": "attainment"},
        {"kind": "errors"},
        {"kind": "exceedance", "metric": "ttft_ms", "threshold": 500},
    )
)


@given(sample_lists(), st.integers(0, 12))
def test_parts_of_an_arm_merge_to_the_whole_in_any_order(samples: list[Any], cut: int) -> None:
    whole = count_arm(samples, slo(), CRITERIA, policies=[BASELINE])
    parts = [
        count_arm(part, slo(), CRITERIA, policies=[BASELINE])
        for part in (samples[:cut], samples[cut:])
    ]
    for order in itertools.permutations(parts):
        assert order[0].merge(order[1]) == whole


@given(sample_lists())
def test_every_request_that_is_judged_is_in_the_denominator(samples: list[Any]) -> None:
    counted = count_arm(samples, slo(), CRITERIA)
    excluded = sum(judge(sample, slo()).excluded for sample in samples)
    assert (counted.scheduled, counted.excluded) == (len(samples), excluded)
    for criterion in CRITERIA:
        count = counted.count(criterion.name)
        assert count.offered == len(samples) - excluded
        assert 0 <= count.bad + count.unmeasured <= count.offered


def test_what_a_user_cancelled_before_it_missed_is_offered_but_not_judged() -> None:
    counted = count_arm([answered(), failed(Outcome.CANCELLED, 1)], slo(), CRITERIA)
    assert (counted.scheduled, counted.judged, counted.failed) == (2, 1, 0)
    assert counted.count("attainment") == Count(1, 0, 0)


def test_a_client_that_dropped_requests_is_a_fault_of_the_stimulus() -> None:
    assert "dropped" in count_arm([failed(Outcome.DROPPED)], None, CRITERIA).faults[0]


@given(st.permutations(range(6)))
def test_the_stimulus_is_what_was_asked_whatever_came_of_it(order: list[int]) -> None:
    asked = [answered(k, at=0.1 * k) for k in range(6)]
    other = [failed(Outcome.SHED, k, at=0.1 * k + 50) for k in order]
    same = count_arm(asked, None, CRITERIA).stimulus
    assert count_arm(other, None, CRITERIA, origin=50.0).stimulus == same
    assert count_arm(other[1:], None, CRITERIA, origin=50.0).stimulus != same
    moved = [answered(k, at=0.1 * k + 0.001 * (k == 3)) for k in range(6)]
    assert count_arm(moved, None, CRITERIA).stimulus != same
    stranger = [answered(k, at=0.1 * k, tenant="other") for k in range(6)]
    assert count_arm(stranger, None, CRITERIA).stimulus != same


def test_d_is_the_candidates_bad_rate_minus_the_baselines() -> None:
    found = block(plan(), 0, arm("b", bad=3, n=60), arm("c", bad=4, n=40))
    assert found.difference("attainment") == pytest.approx(0.1 - 0.05)
    assert found.difference("errors") is None


def test_an_arm_with_nothing_to_say_makes_no_difference() -> None:
    dumb = {"attainment": Count(60, 0, 60)}
    assert block(plan(), 0, arm("b"), arm("c", counts=dumb)).difference("attainment") is None
    assert block(plan(), 0, arm("b", n=0), arm("c")).difference("attainment") is None


def test_blocks_that_are_not_one_do_not_merge() -> None:
    one = block(plan(), 0, arm("b", 1), arm("c", 2))
    both = one.merge(one)
    assert both.baseline.count("attainment") == Count(120, 2, 0)
    with pytest.raises(ValueError, match="are not one"):
        one.merge(block(plan(), 1, arm("b"), arm("c")))


@given(sample_lists(), st.floats(0, 1e6))
def test_a_block_comes_back_from_its_json_and_bytes_are_the_same(
    samples: list[Any], ended: float
) -> None:
    counted = count_arm(samples, slo(), CRITERIA, policies=["x"], engines=["y"])
    given = Block(3, "P", ended, counted, ArmCounts(heard=False, faults=("late",)))
    assert Block.from_json(given.to_json()) == given
    assert canonical(Block.from_json(given.to_json()).to_json()) == canonical(given.to_json())

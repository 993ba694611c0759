"""The course of a criterion is what its verdict says, at every look."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurement.comparison.assignment import Design, draw
from measurement.comparison.block import ArmCounts, Block, Count
from measurement.comparison.course import course
from measurement.comparison.criterion import Criterion
from measurement.comparison.criterion_verdict import Series
from measurement.comparison.plan import Budget, ComparisonPlan, Stimulus
from measurement.slo_parts import Metadata


def plan(budget: Budget) -> ComparisonPlan:
    return ComparisonPlan(
        metadata=Metadata(name="p", owner="tests"),
        baseline="a" * 64,
        candidate="b" * 64,
        criteria=(Criterion(kind="attainment"),),
        seed=3,
        blocks=40,
        stimulus=Stimulus.REPLAY,
        budget=budget,
    )


def blocks_of(asked: ComparisonPlan, bad: list[tuple[int, int]]) -> list[Block]:
    found = []
    for index, (a, b) in enumerate(bad):
        order = draw(asked.seed, index, Design(asked.design))
        arms = (
            ArmCounts(30, counts={"attainment": Count(30, count)}, policies=frozenset({policy}))
            for count, policy in ((a, asked.baseline), (b, asked.candidate))
        )
        found.append(Block(index, order, index + 1.0, *arms))
    return found


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40),
    st.sampled_from(list(Budget)),
)
def test_at_each_look_the_band_is_the_verdicts_own(
    bad: list[tuple[int, int]], budget: Budget
) -> None:
    asked = plan(budget)
    blocks = blocks_of(asked, bad)
    points = course(asked, asked.criteria[0], blocks)
    series = Series(asked, asked.criteria[0], blocks)
    assert [point.block for point in points] == list(range(len(bad)))
    for place, point in enumerate(points):
        row = series.verdict(place)
        assert point.m == pytest.approx(row.m)
        if not point.look:
            continue
        assert row.m is not None
        assert row.r_harm is not None
        assert row.r_pass is not None
        assert point.low == pytest.approx(row.m - row.r_harm)
        assert point.high == pytest.approx(row.m + row.r_pass)


def test_a_fixed_budget_looks_four_times_and_not_before_the_twentieth_block() -> None:
    asked = plan(Budget.FIXED)
    points = course(asked, asked.criteria[0], blocks_of(asked, [(1, 2)] * 40))
    assert [point.k for point in points if point.look] == [20, 30, 40]
    assert [point.k for point in points if point.low is None] == list(range(1, 20)), (
        "blocks that are alike by chance must not look sure"
    )


def test_before_a_block_there_is_no_course() -> None:
    asked = plan(Budget.SEQUENTIAL)
    assert course(asked, asked.criteria[0], []) == []

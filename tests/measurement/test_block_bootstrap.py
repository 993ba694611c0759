"""The block bootstrap: covers where neighbours are alike, is seeded, and asks for nothing."""

from __future__ import annotations

import numpy as np
import pytest

from measurement import interval_verification
from measurement.block_bootstrap import block_length, intervals, ratio_interval
from measurement.interval_verification import Row, Size, sojourns, truth


def test_neighbours_that_are_alike_go_together_in_longer_blocks() -> None:
    rng = np.random.default_rng(4)
    independent = rng.exponential(1.0, 4_000)
    queued = sojourns(0.8, 4_000, rng)
    assert block_length(queued, 95) > 3 * block_length(independent, 95)
    assert block_length(queued, 95) <= 400


def test_its_interval_covers_times_in_a_queue_far_better_than_order_statistics() -> None:
    rng = np.random.default_rng(5)
    value, hits = truth(0.5, 95), 0
    for _ in range(60):
        [found] = intervals(sojourns(0.5, 2_000, rng), [95], rng, resamples=100)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= value <= found.high
    assert hits / 60 > 0.75, "order statistics hold it in half of the runs"


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(6).exponential(1.0, 500)
    first, second = (intervals(values, [50, 99], np.random.default_rng(1)) for _ in range(2))
    assert first == second
    assert first[0].method == "block bootstrap, as description"


def test_the_ratio_of_two_percentiles_holds_the_true_one() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.exponential(1.0, 3_000), rng.exponential(1.5, 3_000)
    found = ratio_interval(a, b, 95, rng)
    assert found.low is not None
    assert found.high is not None
    assert 1.2 < found.low < 1.5 < found.high < 1.9


@pytest.mark.parametrize(("a", "b"), [([], []), ([], [1.0]), ([0.0] * 20, [1.0] * 20)])
def test_of_nothing_or_of_a_zero_there_is_no_ratio(a: list[float], b: list[float]) -> None:
    found = ratio_interval(a, b, 95, np.random.default_rng(8))
    assert (found.low, found.high) == (None, None)
    [none] = intervals([], [95], np.random.default_rng(8))
    assert (none.low, none.high, none.n) == (None, None, 0)


def test_the_reduced_grid_holds_the_default_and_catches_the_naive_interval() -> None:
    size = Size(120, ((0.5, 4_000),))
    found = list(interval_verification.rows(size, np.random.default_rng(9)))
    assert {row.method for row in found} == {"batch means", "order statistics"}
    assert all(row.held for row in found)


def test_a_bar_can_be_missed() -> None:
    row = Row("batch means", 0.5, 4_000, 95, hits=85, runs=100, open_ends=0, effective=1, width=1)
    assert not row.held

"""Change points: planted shifts are found where they are, and noise is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from measurement.change_points import LEAST_RUNS, MOST_RUNS, find


def test_a_planted_shift_is_found_where_it_is() -> None:
    rng = np.random.default_rng(1)
    series = np.concatenate((rng.lognormal(5, 0.05, 25), rng.lognormal(5.25, 0.05, 15)))
    [change] = find(series)
    assert abs(change.index - 25) <= 1
    assert change.p <= 0.01
    assert change.relative == pytest.approx(0.28, abs=0.08)
    assert change.before == pytest.approx(np.median(series[: change.index]))


def test_two_shifts_are_found_in_order() -> None:
    rng = np.random.default_rng(2)
    levels = np.repeat([100.0, 130.0, 90.0], 20)
    found = find(levels + rng.normal(0, 4, 60))
    assert [round(change.index / 20) for change in found] == [1, 2]
    assert found[0].after == pytest.approx(found[1].before)


def test_noise_of_any_tail_has_no_change() -> None:
    rng = np.random.default_rng(3)
    false = 0
    for _ in range(20):
        false += bool(find(rng.normal(100, 5, 30)))
        false += bool(find(rng.pareto(1.5, 30)))
    assert false <= 3, "40 histories at 1 % each"


def test_one_bad_run_is_an_accident_and_no_level() -> None:
    rng = np.random.default_rng(4)
    series = rng.normal(100, 3, 30)
    series[15] = 400
    assert find(series) == []


def test_a_history_that_is_too_short_or_does_not_vary_has_none() -> None:
    assert find([1.0] * 4 + [9.0] * (LEAST_RUNS - 5)) == []
    assert find([5.0] * 40) == []
    assert find([]) == []


def test_the_same_history_gives_the_same_answer() -> None:
    series = np.random.default_rng(5).normal(100, 5, 40) + np.repeat([0, 9], 20)
    assert find(series) == find(series)


def test_more_runs_than_are_looked_at_are_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        find(np.zeros(MOST_RUNS + 1))

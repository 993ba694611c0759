"""Percentiles, the sample-size rule, and intervals held to the coverage they claim."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from measurement.quantiles import (
    Interval,
    Quantiles,
    batch_means_interval,
    minimum_n,
    order_statistic_interval,
    percentile,
)

RUNS = 200
Series = Callable[[np.random.Generator], NDArray[np.float64]]


def independent(n: int) -> Series:
    return lambda rng: rng.exponential(1.0, n)


def sojourns(n: int, load: float) -> Series:
    """Times in an M/M/1 queue of that load, by Lindley's recursion, its start cut."""

    def draw(rng: np.random.Generator) -> NDArray[np.float64]:
        size = n + 10_000
        service, gap = rng.exponential(1.0, size), rng.exponential(1 / load, size)
        walk = np.concatenate(([0.0], np.cumsum(service[:-1] - gap[1:])))
        return (walk - np.minimum.accumulate(walk) + service)[-n:]

    return draw


def covered(series: Series, truth: float, method: Callable[..., Interval], percent: float) -> float:
    """The share of runs whose interval holds the truth; an open end holds everything."""
    rng = np.random.default_rng(20_240_229)
    hits = 0
    for _ in range(RUNS):
        found = method(series(rng), percent)
        over_low = found.low is None or found.low <= truth
        hits += over_low and (found.high is None or truth <= found.high)
    return hits / RUNS


def exponential(percent: float, mean: float = 1.0) -> float:
    return -mean * math.log(1 - percent / 100)


def at_least(claimed: float) -> float:
    """The least share of 200 runs that a true coverage of ``claimed`` gives with 99.9 %."""
    return float(stats.binom.ppf(0.001, RUNS, claimed)) / RUNS


@pytest.mark.parametrize(
    ("percent", "n"), [(50, 6), (90, 36), (95, 72), (99, 368), (99.9, 3688), (10, 36)]
)
def test_the_sample_size_rule(percent: float, n: int) -> None:
    assert minimum_n(percent) == n


@pytest.mark.parametrize(("percent", "n"), [(50, 6), (95, 72), (99, 368)])
def test_the_rule_is_where_the_interval_gets_both_ends(percent: float, n: int) -> None:
    assert order_statistic_interval(np.arange(n), percent).high is not None
    assert order_statistic_interval(np.arange(n - 1), percent).high is None


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80), st.sampled_from([1, 50, 95, 99, 100])
)
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(
    values: list[float], percent: float
) -> None:
    found = percentile(values, percent)
    assert found == np.percentile(values, percent, method="inverted_cdf")
    below = sum(value < found for value in values) if found is not None else 0
    assert 100 * below / len(values) < percent


def test_p95_under_the_threshold_is_95_percent_within_it() -> None:
    values = [0.1] * 95 + [9.0] * 5
    assert percentile(values, 95) == 0.1
    assert percentile([0.1] * 94 + [9.0] * 6, 95) == 9.0


def test_weights_count_a_value_so_often() -> None:
    assert percentile([3.0, 1.0, 2.0], 50, weights=[1, 1, 5]) == 2.0
    assert Quantiles.of([3.0, 1.0], weights=[10, 1]).n == 11


def test_too_few_values_give_null_and_keep_the_rough_number_apart() -> None:
    few = Quantiles.of(np.arange(1, 101))
    assert (few.p95, few.p99, few.rough) == (95, None, {"p99": 99})
    assert few.enough == {"p50": True, "p90": True, "p95": True, "p99": False}
    assert few.to_json()["p99"] is None


def test_percentiles_of_nothing_are_null_and_never_zero() -> None:
    nothing = Quantiles.of([])
    assert (nothing.n, nothing.p50, nothing.max, nothing.rough) == (0, None, None, {})
    assert batch_means_interval([], 50) == Interval(None, None, 0, 0.0, "batch means")
    assert percentile([], 50) is None


@pytest.mark.parametrize("percent", [50, 95, 99])
@pytest.mark.parametrize("method", [order_statistic_interval, batch_means_interval])
def test_on_independent_values_both_intervals_cover_95_percent(
    percent: float, method: Callable[..., Interval]
) -> None:
    assert covered(independent(2000), exponential(percent), method, percent) >= at_least(0.95)


@pytest.mark.parametrize(
    ("load", "n", "percent", "claimed"),
    [
        (0.5, 10_000, 50, 0.95),
        (0.5, 10_000, 95, 0.95),
        (0.5, 10_000, 99, 0.95),
        (0.8, 10_000, 50, 0.95),
        (0.8, 10_000, 95, 0.95),
        (0.8, 10_000, 99, 0.92),
        (0.9, 10_000, 50, 0.95),
        (0.9, 10_000, 95, 0.91),
        (0.9, 10_000, 99, 0.89),
    ],
)
def test_batch_means_cover_under_a_queue_where_order_statistics_do_not(
    load: float, n: int, percent: float, claimed: float
) -> None:
    truth = exponential(percent, mean=1 / (1 - load))
    series = sojourns(n, load)
    assert covered(series, truth, batch_means_interval, percent) >= at_least(claimed)
    assert covered(series, truth, order_statistic_interval, percent) < 0.8


def test_on_autocorrelated_latency_batch_means_cover() -> None:
    def series(rng: np.random.Generator) -> NDArray[np.float64]:
        noise = rng.standard_normal(6000) * math.sqrt(1 - 0.9**2)
        level, state = np.empty(6000), 0.0
        for place, step in enumerate(noise):
            state = 0.9 * state + step
            level[place] = state
        return np.exp(level[1000:])

    for percent in (50, 95, 99):
        truth = math.exp(stats.norm.ppf(percent / 100))
        assert covered(series, truth, batch_means_interval, percent) >= at_least(0.94)
        assert covered(series, truth, order_statistic_interval, percent) < 0.8

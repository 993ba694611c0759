"""The running numbers and the radius, against independent arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.comparison.confidence_sequence import mixing, radius, running

differences = st.lists(st.floats(-1, 1), min_size=1, max_size=60)


@given(differences)
def test_means_and_variances_are_those_of_each_prefix(values: list[float]) -> None:
    run = running(values)
    for k in range(1, len(values) + 1):
        head = np.array(values[:k])
        assert run.mean[k - 1] == pytest.approx(head.mean(), abs=1e-12)
        assert run.variance[k - 1] == pytest.approx(head.var(ddof=1) if k > 1 else 0, abs=1e-12)
        assert run.squares[k - 1] == pytest.approx(float(head @ head), abs=1e-12)


def test_many_runs_at_once_are_each_by_itself() -> None:
    values = np.random.default_rng(1).normal(size=(5, 40))
    together = running(values)
    for row in range(5):
        np.testing.assert_array_equal(together.variance[row], running(values[row]).variance)


@pytest.mark.parametrize(
    ("k", "alpha", "expected"),
    # Worked out with 50-digit arithmetic from the formula of the page.
    [
        (20, 0.05, 0.656619895574619),
        (60, 0.05, 0.358779523030344),
        (120, 0.025, 0.279856592752078),
        (1000, 0.01, 0.114135646716137),
    ],
)
def test_the_radius_of_unit_variance(k: int, alpha: float, expected: float) -> None:
    assert radius(1.0, k, alpha) == pytest.approx(expected, rel=1e-12)
    assert radius(0.25, k, alpha) == pytest.approx(expected / 2, rel=1e-12)


def test_the_mixing_parameter_is_the_pages() -> None:
    expected = (-2 * math.log(0.1) + math.log(-2 * math.log(0.1) + 1)) / 60
    assert mixing(0.05) == pytest.approx(expected, rel=1e-14)


def test_nothing_is_said_before_twenty_blocks() -> None:
    assert np.isinf(radius(1.0, np.arange(1, 20), 0.05)).all()
    assert np.isfinite(radius(1.0, 20, 0.05))


@given(st.floats(1e-4, 0.2), st.floats(1e-4, 0.2), st.integers(20, 10_000), st.floats(0, 1))
def test_less_error_costs_width_and_a_look_at_one_time_would_be_narrower(
    one: float, other: float, k: int, variance: float
) -> None:
    low, high = sorted((one, other))
    assert radius(variance, k, low) >= radius(variance, k, high)
    from statistics import NormalDist

    fixed = NormalDist().inv_cdf(1 - high) * math.sqrt(variance / k)
    assert radius(variance, k, high) >= fixed * (1 - 1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.5, -1.0])
def test_a_level_that_is_none_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="one-sided level"):
        radius(1.0, 30, alpha)

"""The sign-symmetric e-process, against scipy and against a fair bet."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from measurement.comparison.e_process import HORIZONS, log_e, log_normal_cdf, reaches


@given(st.floats(-300, 40))
def test_the_tail_is_right_where_phi_itself_is_zero(x: float) -> None:
    assert log_normal_cdf(x) == pytest.approx(stats.norm.logcdf(x), rel=1e-9, abs=1e-15)


@given(st.floats(-5, 5), st.floats(0.001, 5), st.floats(0.01, 1))
def test_e_is_the_pages_formula(total: float, squares: float, scale: float) -> None:
    terms = []
    for horizon in (10, 40, 160):
        weight = 1 / (scale**2 * horizon)
        spread = 1 + weight * squares
        z = math.sqrt(weight) * total / math.sqrt(spread)
        terms.append(
            math.log(2)
            - 0.5 * math.log(spread)
            + weight * total**2 / (2 * spread)
            + float(stats.norm.logcdf(z))
        )
    expected = np.logaddexp.reduce(terms) - math.log(3)
    assert log_e(total, squares, scale) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_each_bet_is_a_mixture_over_a_half_normal_tilt() -> None:
    """∫ exp(θS − θ²V/2) over a half-normal θ of variance λ: where the closed form is from."""
    total, squares, scale = 0.7, 0.4, 0.1
    whole = []
    for horizon in HORIZONS:
        weight = 1 / (scale**2 * horizon)
        density = stats.halfnorm(scale=math.sqrt(weight)).pdf
        value, _ = integrate.quad(
            lambda t, d=density: d(t) * math.exp(t * total - t * t * squares / 2), 0, 60, limit=200
        )
        whole.append(value)
    assert math.exp(log_e(total, squares, scale)) == pytest.approx(np.mean(whole), rel=1e-6)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=8), st.floats(0.01, 1))
def test_with_equal_arms_it_is_a_fair_or_losing_bet_over_all_signs(
    sizes: list[float], scale: float
) -> None:
    squares = sum(size * size for size in sizes)
    wealth = [
        math.exp(log_e(sum(s * d for s, d in zip(signs, sizes, strict=True)), squares, scale))
        for signs in product((-1, 1), repeat=len(sizes))
    ]
    assert np.mean(wealth) <= 1 + 1e-9


def test_before_any_block_it_is_one() -> None:
    assert log_e(0.0, 0.0, 0.1) == pytest.approx(0.0, abs=1e-15)


def test_overwhelming_evidence_stays_finite_in_both_directions() -> None:
    assert 1e4 < log_e(1000.0, 10.0, 0.001) < math.inf
    assert -math.inf < log_e(-1000.0, 1000.0, 0.001) < 0


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=50),
    st.floats(0.01, 0.5),
    st.sampled_from([0.5, 1.0, 20.0, 40.0, 1000.0]),
)
def test_the_quick_answer_is_the_exact_one(values: list[float], scale: float, level: float) -> None:
    d = np.array(values)
    s, v = np.cumsum(d), np.cumsum(d * d)
    np.testing.assert_array_equal(
        reaches(level, s, v, scale), log_e(s, v, scale) >= math.log(level)
    )


def test_a_scale_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        log_e(1.0, 1.0, 0.0)

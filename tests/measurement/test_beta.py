"""The beta function and its quantile, against scipy over a grid."""

from __future__ import annotations

import itertools

import pytest
from scipy import special, stats

from measurement.beta import beta_cdf, beta_quantile, binomial_cdf, student_quantile
from measurement.chi_square import chi_square_quantile

SHAPES = [0.5, 1.0, 2.0, 10.0, 99.5, 1000.0, 31000.0, 1e6]
CHANCES = [1e-6, 0.025, 0.05, 0.5, 0.95, 0.975, 1 - 1e-6]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(SHAPES, SHAPES)))
def test_the_quantile_and_the_function_agree_with_scipy(a: float, b: float) -> None:
    for chance in CHANCES:
        true = special.betaincinv(a, b, chance)
        assert beta_quantile(chance, a, b) == pytest.approx(true, rel=1e-7)
        assert beta_cdf(true, a, b) == pytest.approx(special.betainc(a, b, true), abs=1e-8)


def test_the_ends_are_exact() -> None:
    assert [beta_cdf(x, 2, 3) for x in (-1.0, 0.0, 1.0, 2.0)] == [0, 0, 1, 1]
    assert [beta_quantile(p, 2, 3) for p in (0.0, 1.0)] == [0, 1]
    with pytest.raises(ValueError, match="from 0 to 1"):
        beta_quantile(1.5, 2, 3)


@pytest.mark.parametrize("freedom", [1, 2, 4, 19, 39, 1000])
def test_students_t_agrees_with_scipy(freedom: int) -> None:
    true = stats.t.ppf(0.975, freedom)
    assert student_quantile(0.975, freedom) == pytest.approx(true, rel=1e-8)


@pytest.mark.parametrize(
    ("k", "n", "p"), [(-1, 5, 0.5), (0, 5, 0.2), (367, 368, 0.99), (9, 9, 0.1)]
)
def test_the_binomial_agrees_with_scipy(k: int, n: int, p: float) -> None:
    assert binomial_cdf(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), abs=1e-12)


@pytest.mark.parametrize("freedom", [19, 99, 600])
@pytest.mark.parametrize("chance", [0.0005, 0.9995])
def test_chi_square_is_within_its_stated_error(freedom: int, chance: float) -> None:
    true = stats.chi2.ppf(chance, freedom)
    assert chi_square_quantile(chance, freedom) == pytest.approx(true, rel=0.022)

"""Shares with exact bounds, and how many more requests would decide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from measurement.proportion import CONFIDENCE, Share, lower_bound, upper_bound

SIZES = [1, 5, 50, 299, 1000, 31905]


@pytest.mark.parametrize("n", SIZES)
def test_bounds_are_clopper_and_pearsons(n: int) -> None:
    for k in {0, 1, n // 2, n - 1, n}:
        share = Share(k, n, n)
        exact = stats.binomtest(k, n, alternative="greater").proportion_ci(CONFIDENCE, "exact")
        assert share.lower() == pytest.approx(exact.low, rel=1e-7)
        exact = stats.binomtest(k, n, alternative="less").proportion_ci(CONFIDENCE, "exact")
        assert share.upper() == pytest.approx(exact.high, rel=1e-7)
        exact = stats.binomtest(k, n).proportion_ci(CONFIDENCE, "exact")
        assert share.interval() == pytest.approx((exact.low, exact.high), rel=1e-7)


@pytest.mark.parametrize(("p", "n"), [(0.99, 500), (0.95, 200), (0.5, 40)])
def test_the_one_sided_bound_is_over_the_truth_in_at_most_5_percent(p: float, n: int) -> None:
    chances = stats.binom.pmf(np.arange(n + 1), n, p)
    wrong = sum(chance for k, chance in enumerate(chances) if Share(k, n, n).lower() > p)
    assert 0 < wrong <= 0.05


def test_fewer_effective_requests_widen_the_bounds_about_the_same_share() -> None:
    whole, correlated = Share(990, 1000, 1000), Share(990, 1000, 250)
    assert correlated.value == whole.value
    assert correlated.lower() < whole.lower() < whole.upper() < correlated.upper()


def test_299_requests_without_a_miss_prove_99_percent() -> None:
    assert Share(298, 298, 298).lower() < 0.99 <= Share(299, 299, 299).lower()
    assert Share(200, 200, 200).needed(0.99) == 99


@pytest.mark.parametrize(("k", "n"), [(797, 800), (790, 800), (30, 30)])
def test_what_is_needed_decides_and_a_little_less_does_not(k: int, n: int) -> None:
    needed = Share(k, n, n / 2).needed(0.99)
    assert needed
    for extra, decides in ((needed, True), (round(0.97 * needed), False)):
        scale = (n + extra) / n / 2
        lower = lower_bound(k * scale, n * scale, CONFIDENCE)
        upper = upper_bound(k * scale, n * scale, CONFIDENCE)
        assert (lower >= 0.99 or upper < 0.99) is decides


def test_nothing_is_needed_once_decided_and_no_number_helps_on_the_target() -> None:
    assert Share(8000, 8000, 8000).needed(0.99) == 0
    assert Share(99, 100, 100).needed(0.99) is None
    assert Share(0, 0, 0).needed(0.99) is None
    assert Share(0, 0, 0).value is None

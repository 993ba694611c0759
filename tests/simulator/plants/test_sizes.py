"""Sizes of requests: means of 1, second moments by the formula, tails cut where they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from simulator.plants.sizes import Lognormal, Pareto, Sizes


@pytest.mark.parametrize("sizes", [Lognormal(0.6), Pareto(3.5), Pareto(1.5, span=190.0)])
def test_sizes_have_a_mean_of_1_and_the_second_moment_that_they_say(sizes: Sizes) -> None:
    drawn = sizes.draw(np.random.default_rng(5), 2_000_000)
    assert drawn.mean() == pytest.approx(1.0, rel=0.01)
    assert np.mean(drawn**2) == pytest.approx(sizes.square, rel=0.05)


def test_a_tail_that_is_cut_ends_there_and_one_that_is_not_is_a_pareto() -> None:
    cut = Pareto(1.5, span=190.0)
    drawn = cut.draw(np.random.default_rng(6), 1_000_000)
    assert 0.9 * cut.most < drawn.max() <= cut.most
    assert cut.most == pytest.approx(68.3, abs=0.1)
    free = Pareto(2.2)
    found = stats.kstest(
        free.draw(np.random.default_rng(7), 20_000), stats.pareto(2.2, scale=1.2 / 2.2).cdf
    )
    assert found.pvalue > 0.001


def test_moments_that_the_tail_makes_infinite_are() -> None:
    assert math.isinf(Pareto(1.5).square)
    assert math.isinf(Pareto(2.2).most)
    assert Pareto(2.5).square == pytest.approx(1.8)

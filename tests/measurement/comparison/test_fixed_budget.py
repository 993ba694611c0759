"""O'Brien–Fleming looks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measurement.comparison.fixed_budget import LOOKS, bounds, look_blocks, spent


def test_the_bounds_at_one_sided_two_and_a_half_percent_are_the_pages() -> None:
    assert [round(z, 2) for z in bounds(0.025)] == [4.33, 2.96, 2.36, 2.01]


@given(st.floats(0.001, 0.05), st.sampled_from(LOOKS))
def test_what_is_spent_is_lan_and_demets_function(alpha: float, share: float) -> None:
    expected = 2 * stats.norm.sf(stats.norm.isf(alpha / 2) / np.sqrt(share))
    assert spent(share, alpha) == pytest.approx(expected, rel=1e-9)
    assert spent(1.0, alpha) == pytest.approx(alpha, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.025, 0.0125, 0.05])
def test_a_walk_that_goes_nowhere_crosses_as_often_as_was_spent(alpha: float) -> None:
    rng = np.random.default_rng(3)
    walks = np.cumsum(rng.standard_normal((100_000, 4)) / 2, axis=1) / np.sqrt(LOOKS)
    for look, bound in enumerate(bounds(alpha)):
        crossed = (walks[:, : look + 1] > np.array(bounds(alpha)[: look + 1])).any(axis=1)
        expected = spent(LOOKS[look], alpha)
        assert bound > 0
        assert crossed.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 100_000) + 1e-6)


def test_looks_are_at_quarters_and_wait_for_whole_blocks() -> None:
    assert look_blocks(120) == (30, 60, 90, 120)
    assert look_blocks(33) == (9, 17, 25, 33)

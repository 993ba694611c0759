"""Whether load was shared out evenly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.comparison.load import sign_flip_p


@given(st.lists(st.integers(-9, 9), max_size=10))
def test_p_is_the_share_of_sign_patterns_as_lopsided_as_this(differences: list[int]) -> None:
    seen = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    assert sign_flip_p(differences) == pytest.approx(np.mean([s >= seen for s in sums]))


def test_counts_too_large_for_the_table_keep_their_p() -> None:
    rng = np.random.default_rng(2)
    small = rng.integers(-300, 340, 60)
    fine, coarse = sign_flip_p(small.tolist()), sign_flip_p((small * 1000 + 3).tolist())
    assert coarse == pytest.approx(fine, rel=0.05)


def test_even_load_is_rarely_called_uneven_and_a_tenth_less_always() -> None:
    rng = np.random.default_rng(4)
    even = [sign_flip_p((rng.poisson(60, 60) - rng.poisson(60, 60)).tolist()) for _ in range(300)]
    assert np.mean(np.array(even) < 0.05) < 0.09
    assert min(even) >= 0.0001
    less = [sign_flip_p((rng.poisson(54, 60) - rng.poisson(60, 60)).tolist()) for _ in range(50)]
    assert np.mean(np.array(less) < 0.001) > 0.7

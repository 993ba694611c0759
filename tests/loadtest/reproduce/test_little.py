"""Little's law against a count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtest.reproduce.little import counted

STAYS = st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.001, 50.0)), min_size=1, max_size=30)


def test_a_span_counted_by_hand() -> None:
    # One over the whole span, one from 2 to 6, one that came before and left at 1, one for ever.
    seen = counted([(0.0, 10.0), (2.0, 6.0), (-5.0, 1.0), (9.0, math.inf)], 0.0, 10.0)
    assert seen["inside"] == pytest.approx((10 + 4 + 1 + 1) / 10)
    assert (seen["came"], seen["stay"]) == (pytest.approx(0.3), pytest.approx(7.0))
    assert seen["by_law"] == pytest.approx(2.1)
    assert seen["off"] == pytest.approx(100 * (2.1 / 1.6 - 1))


@given(STAYS)
def test_it_is_exact_where_everybody_comes_and_leaves_within_the_span(
    given_stays: list[tuple[float, float]],
) -> None:
    stays = [(came, came + stay) for came, stay in given_stays]
    seen = counted(stays, 0.0, 200.0)
    assert seen["inside"] == pytest.approx(seen["by_law"])
    assert seen["off"] == pytest.approx(0.0, abs=1e-6)


def test_a_queue_that_nobody_leaves_has_no_stay() -> None:
    seen = counted([(float(at), math.inf) for at in range(10)], 0.0, 10.0)
    assert seen["inside"] == pytest.approx(5.5)
    assert math.isinf(seen["stay"])
    assert math.isinf(seen["off"])


def test_a_steady_queue_is_near_the_law() -> None:
    rng = np.random.default_rng(3)
    came = np.cumsum(rng.exponential(0.1, 20_000))
    stays = list(zip(came.tolist(), (came + rng.exponential(1.0, 20_000)).tolist(), strict=True))
    assert abs(counted(stays, 100.0, 1900.0)["off"]) < 1.0

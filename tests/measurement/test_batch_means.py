"""Effective n: what correlated requests are worth."""

from __future__ import annotations

import numpy as np
import pytest

from measurement.batch_means import effective_n


def test_a_share_that_does_not_vary_tells_nothing_so_n_stands() -> None:
    assert effective_n([1] * 50, [1] * 50) == 50
    assert effective_n([1] * 50, [0] * 50) == 50
    assert effective_n([], []) == 0


def test_independent_requests_are_worth_nearly_themselves() -> None:
    rng = np.random.default_rng(5)
    worth = [effective_n(np.ones(4000), rng.random(4000) < 0.97) / 4000 for _ in range(200)]
    assert 0.75 < np.mean(worth) < 1.0
    assert max(worth) <= 1.0


def test_requests_that_fail_in_bursts_are_worth_less() -> None:
    spread = np.zeros(1000)
    spread[::100] = 1
    burst = np.zeros(1000)
    burst[500:510] = 1
    assert effective_n(np.ones(1000), spread) > 800
    assert effective_n(np.ones(1000), burst) == pytest.approx(100, rel=0.2)


def test_windows_are_worth_what_their_requests_are() -> None:
    rng = np.random.default_rng(9)
    hits = rng.random(6000) < 0.9
    by_request = effective_n(np.ones(6000), hits)
    by_window = effective_n(np.full(60, 100), hits.reshape(60, 100).sum(axis=1))
    assert by_window == pytest.approx(by_request, rel=0.02)


def test_empty_windows_change_nothing() -> None:
    sizes, hits = [10, 0, 10, 10, 0, 10], [9, 0, 10, 7, 0, 10]
    dense = effective_n([10] * 4, [9, 10, 7, 10])
    assert effective_n(sizes, hits) == dense


def test_very_few_pieces_are_read_with_great_caution() -> None:
    assert effective_n([100, 100], [95, 90]) < 30
    assert effective_n([200], [185]) == 200

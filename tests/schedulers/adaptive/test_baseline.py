"""The baseline: least of upper bounds, found congestion, and what chance can't fake."""

from __future__ import annotations

import math

import numpy as np
import pytest

from schedulers.adaptive.baseline import POOL, Baseline, Sense, read

TOLERANCE = math.log(1.06)


def sense(*, eager: bool = False) -> Sense:
    return Sense(3.3, 2.5, 30, TOLERANCE, TOLERANCE / 2, eager)


def cohorts(
    sigma: float, shift: float = 0.0, *, size: int = 50, seed: int = 1
) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    return [sorted((rng.normal(0.0, sigma, size) + shift).tolist()) for _ in range(400)]


def learned(sigma: float, count: int = 40) -> Baseline:
    base = Baseline()
    for ordered in cohorts(sigma)[:count]:
        base = read(base, ordered, sense()).after.ended(sense())
    return base


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.3, 0.6])
def test_the_baseline_stays_near_the_truth_however_long_it_is_looked_for(sigma: float) -> None:
    low = learned(sigma, 400).low
    assert low is not None
    assert -0.04 < low < 0.08


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.3, 0.6])
def test_chance_is_seldom_taken_for_a_queue(sigma: float) -> None:
    base, found = learned(sigma), 0
    for ordered in cohorts(sigma, seed=2)[:200]:
        reading = read(base, ordered, sense())
        found += reading.congested
        base = reading.after.afresh() if reading.congested else reading.after
    assert found <= 2


@pytest.mark.parametrize(("sigma", "within"), [(0.02, 1), (0.1, 1), (0.3, 3), (0.6, 8)])
def test_a_queue_of_half_the_latency_is_found_within_some_cohorts(
    sigma: float, within: int
) -> None:
    base, found = learned(sigma).afresh(), []
    for ordered in cohorts(sigma, shift=math.log(1.5), seed=3)[:within]:
        reading = read(base, ordered, sense())
        found.append(reading.congested)
        base = reading.after
    assert any(found)


def test_bimodal_work_whose_small_cohorts_flip_is_no_queue() -> None:
    rng = np.random.default_rng(5)
    base, found = Baseline(), 0
    for i in range(300):
        ordered = sorted(np.where(rng.random(10) < 0.3, 1.4, 0.0).tolist())
        reading = read(base, ordered, sense())
        found += reading.congested
        base = reading.after.ended(sense()) if i % 4 == 0 else reading.after
        base = base._replace(evidence=0.0) if reading.congested else base
    assert found <= 6


def test_overdue_cohorts_are_congested_and_leave_the_spread_alone() -> None:
    base = learned(0.1)
    reading = read(base, [0.9] * 20, sense(), overdue=True)
    assert reading.congested
    assert reading.depth == 0.9
    assert reading.after.spread == base.spread


def test_faster_samples_begin_the_reserve_anew() -> None:
    slow = Baseline(spread=0.6, weighed=400, pooled=(1.0,) * 60).ended(sense())
    assert slow.reserve_low == pytest.approx(1.0, abs=0.2)
    fast = Baseline(spread=0.6, weighed=400, reserve=slow.reserve, reserve_low=slow.reserve_low)
    fast = read(fast, [0.0] * 60, sense()).after.ended(sense())
    assert fast.reserve == (0.0,) * 60


def test_a_moved_baseline_forgets_all_bounds_but_the_new_one() -> None:
    moved = learned(0.1).moved(0.4, 0.01)
    assert moved.lows == (pytest.approx(0.415),)
    assert (moved.pooled, moved.reserve, moved.evidence) == ((), (), 0.0)


def test_samples_are_kept_up_to_a_bound() -> None:
    base = Baseline()
    for ordered in cohorts(0.6):
        base = read(base, ordered, sense()).after
    assert len(base.pooled) <= POOL

"""The method holds its bars on a reduced grid, and what is used elsewhere does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from measurement.comparison.shared_engine import shared
from measurement.comparison.trials import Conditions, simulate
from measurement.comparison.verification import (
    ALPHA,
    FALSE_HARM,
    FALSE_PASS,
    Row,
    Size,
    errors,
    grid,
    must_fail,
    powers,
    worst,
)

TESTED = Size(1200, ("lognormal",), requests=(8, 60), correlations=(0.0, 0.98))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return list(errors(TESTED, np.random.default_rng(20)))


@pytest.mark.parametrize("method", ["sequence", "budget 120", "budget 33"])
@pytest.mark.parametrize("what", [FALSE_HARM, FALSE_PASS])
def test_the_upper_bound_of_each_error_is_under_alpha_and_one_point(
    rows: list[Row], method: str, what: str
) -> None:
    mine = [row for row in rows if (row.method, row.what) == (method, what)]
    assert len(mine) >= 11
    assert {row.conditions: row.upper for row in mine if row.upper > ALPHA + 0.01} == {}


def test_the_grid_has_every_kind_of_trouble() -> None:
    cells = list(grid(TESTED))
    assert {cell.correlation for cell in cells} >= {0.0, 0.9, 0.98}
    assert {cell.requests for cell in cells} == {8, 60}
    for trouble in ("trend", "bursts", "switchback"):
        assert any(getattr(cell, trouble) for cell in cells)
    assert min(cell.base for cell in cells) == 0.002
    assert max(cell.base for cell in cells) == 0.99
    assert max(cell.lane_offset for cell in cells) == 0.3


def test_naive_tests_fixed_lanes_and_a_shared_engine_fail_the_same_harness() -> None:
    found = list(must_fail(500, np.random.default_rng(21)))
    assert len(found) == 7
    for row in found:
        assert row.lower > 0.15, (row.method, row.rate)
        assert row.held


def test_the_method_finds_what_there_is_to_find() -> None:
    found = {row.conditions: row for row in powers(600, np.random.default_rng(22))}
    assert found["+20 % latency"].rate > 0.98
    assert 0.6 < found["+10 % latency"].rate < 0.8
    assert found["equal arms, base 5%, margin 1%, 120 × 60"].rate == pytest.approx(0.48, abs=0.08)
    assert all(row.held for row in found.values())


def test_arms_on_one_engine_look_alike_though_one_alone_ruins_nearly_all() -> None:
    runs = shared(40, 120, np.random.default_rng(23))
    own, theirs = (
        float(bad.sum() / n.sum())
        for n, bad in (
            (runs.baseline_n, runs.baseline_bad),
            (runs.candidate_n, runs.candidate_bad),
        )
    )
    assert own == pytest.approx(0.025, abs=0.002)
    assert theirs - own < 0.003
    assert runs.truth[0, 0] > 0.9


def test_simulated_rates_are_what_was_asked_for() -> None:
    rng = np.random.default_rng(24)
    for tail in ("lognormal", "pareto"):
        calm = Conditions(tail=tail, lane_offset=0.0, correlation=0.0, lane_spread=0.12)
        runs = simulate(calm, 300, 120, rng)
        rate = runs.baseline_bad.sum() / runs.baseline_n.sum()
        assert rate == pytest.approx(0.05, rel=0.15)
        assert np.abs(runs.truth).max() < 1e-12
    worse = simulate(Conditions(latency=0.18), 300, 120, rng)
    assert worse.differences.mean() == pytest.approx(worse.truth.mean(), abs=0.001)


def test_load_is_as_autocorrelated_as_asked() -> None:
    runs = simulate(Conditions(correlation=0.9, requests=2000), 200, 120, np.random.default_rng(25))
    rate = runs.baseline_bad / runs.baseline_n + runs.candidate_bad / runs.candidate_n
    centred = rate - rate.mean()
    seen = (centred[:, 1:] * centred[:, :-1]).mean() / (centred**2).mean()
    assert seen == pytest.approx(0.85, abs=0.1)


def test_a_row_knows_its_clopper_pearson_bounds_and_whether_its_bar_is_held() -> None:
    row = Row("m", "c", FALSE_HARM, 30, 1000, bar=0.06)
    assert row.upper == pytest.approx(stats.beta.ppf(0.95, 31, 970))
    assert row.lower == pytest.approx(stats.beta.ppf(0.05, 30, 971))
    assert row.held
    assert not Row("m", "c", FALSE_HARM, 50, 1000, bar=0.06).held
    assert not Row("m", "c", FALSE_HARM, 50, 1000, bar=0.06, must_fail=True).held
    assert Row("m", "c", FALSE_HARM, 90, 1000, bar=0.06, must_fail=True).held
    assert worst([row, Row("m", "d", FALSE_HARM, 31, 1000)])[0].conditions == "d"

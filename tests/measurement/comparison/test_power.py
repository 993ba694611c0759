"""What a plan can find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.comparison.confidence_sequence import radius
from measurement.comparison.looks import look
from measurement.comparison.power import detectable, plan_power, power, rule_of
from measurement.comparison.trials import Conditions, simulate
from tests.measurement.comparison.builders import plan


def test_a_plan_that_is_large_enough_is_not_warned_about() -> None:
    of = plan({"kind": "attainment", "base": 0.05, "pass_margin": 0.04})
    found = power(of, of.criteria[0], np.random.default_rng(1), runs=500)
    assert found.harm > 0.99
    assert found.passes > 0.99
    assert found.median_block is not None
    assert 20 <= found.median_block < 30
    assert found.warnings == ()


def test_a_plan_that_is_too_small_is_warned_about_both_ways() -> None:
    of = plan({"kind": "attainment", "base": 0.05, "pass_margin": 0.005}, blocks=40)
    found = power(of, of.criteria[0], np.random.default_rng(1), runs=500)
    assert found.harm < 0.8
    assert found.passes < 0.8
    assert "0.5 points of attainment would be called harm in only" in found.warnings[0]
    assert "An equal candidate would pass attainment" in found.warnings[1]


def test_errors_too_rare_to_pass_are_told_before_the_start() -> None:
    of = plan({"kind": "errors", "base": 0.0})
    found = power(of, of.criteria[0], np.random.default_rng(1), runs=300)
    assert (found.passes, found.median_block) == (0.0, None)


def test_a_plan_shows_the_power_of_each_criterion() -> None:
    of = plan({"kind": "attainment", "base": 0.05}, {"kind": "errors"})
    shown = [found.to_json() for found in plan_power(of, np.random.default_rng(1))]
    assert [row["criterion"] for row in shown] == ["attainment", "errors"]
    assert shown[0]["harm"] > 0.3
    assert shown[1]["pass"] == 0


def test_power_of_a_plan_is_what_simulated_comparisons_do() -> None:
    """The scale from an A/A run carries the noise of lanes into the plan."""
    rng = np.random.default_rng(5)
    calm = simulate(Conditions(), 300, 120, rng).differences
    scale = float(np.sqrt(np.mean(calm**2)))
    of = plan({"kind": "attainment", "base": 0.05, "pass_margin": 0.02, "scale": scale})
    worse = simulate(Conditions(errors=0.02), 1000, 120, rng)
    seen = look(
        worse.differences,
        worse.baseline_bad,
        worse.candidate_bad,
        rule_of(of, of.criteria[0]),
        offered=worse.baseline_n + worse.candidate_n,
    )
    found = power(of, of.criteria[0], rng, gap=0.019, runs=1000)
    assert found.harm == pytest.approx(seen.harm.any(axis=1).mean(), abs=0.06)


@given(st.integers(20, 5000), st.floats(1e-6, 0.1))
def test_what_is_detectable_is_a_radius_and_the_80_percent_point(k: int, variance: float) -> None:
    of = plan()
    expected = radius(variance, k, 0.025) + 0.8416212335729143 * math.sqrt(variance / k)
    assert detectable(of, of.criteria[0], k, variance) == pytest.approx(min(1, expected))


def test_a_detectable_gap_is_found_in_four_of_five_comparisons() -> None:
    of = plan({"kind": "attainment", "scale": 0.04})
    least = detectable(of, of.criteria[0], 120, 0.04**2)
    assert least is not None
    d = least + 0.04 * np.random.default_rng(2).standard_normal((4000, 120))
    at_end = d.mean(axis=1) - radius(d.var(axis=1, ddof=1), 120, 0.025) > 0
    assert at_end.mean() == pytest.approx(0.8, abs=0.03)


def test_nothing_is_detectable_before_twenty_blocks_nor_everything_in_still_ones() -> None:
    of = plan()
    assert detectable(of, of.criteria[0], 19, 0.01) is None
    assert detectable(of, of.criteria[0], 30, 0.0) == pytest.approx(math.log(20) / 30)
    fixed = plan(budget="fixed")
    least = detectable(fixed, fixed.criteria[0], 120, 0.0016)
    assert least == pytest.approx((2.0140882 + 0.8416212) * 0.04 / math.sqrt(120), rel=1e-5)

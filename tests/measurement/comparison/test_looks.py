"""What each look allows to be said."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurement.comparison.confidence_sequence import radius
from measurement.comparison.course import course
from measurement.comparison.fixed_budget import bounds
from measurement.comparison.looks import Rule, clean_blocks, look
from measurement.comparison.trials import Conditions, simulate
from measurement.comparison.verdict import Evidence, judge
from tests.measurement.comparison.builders import BASELINE, CANDIDATE, arm, block, blocks, plan

RULE = Rule(alpha=0.05, alpha_harm=0.01, pass_margin=0.02, harm_margin=0.0, scale=0.03)
counts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60)


@given(counts)
def test_harm_and_pass_are_the_pages_inequalities(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    looks = look((b - a) / 40, a, b, RULE, offered=80 * np.ones(len(a)))
    k = np.arange(1, len(a) + 1)
    r_h, r_p = radius(looks.running.variance, k, 0.005), radius(looks.running.variance, k, 0.05)
    by_radius = looks.running.mean - r_h > 0
    assert (looks.harm | ~by_radius).all()
    good = np.cumsum(80 - a - b)
    shown = (looks.running.mean + r_p < 0.02) & (np.cumsum(a + b) >= 30) & (good >= 30)
    np.testing.assert_array_equal(looks.passes & ~looks.rare, shown)


@given(counts)
def test_no_gap_is_both_harm_and_passed_by_its_radius(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    looks = look((b - a) / 40, a, b, RULE, offered=80 * np.ones(len(a)))
    wide = looks.running.mean - looks.harm_radius > 0.02
    assert not (wide & looks.passes).any()


@pytest.mark.parametrize(("good", "outcome"), [(0, "inconclusive"), (1, "pass")])
def test_arms_of_which_nearly_all_is_bad_pass_by_no_spread(good: int, outcome: str) -> None:
    """Where both are bad throughout, every difference is 0: nothing was shown of the candidate."""
    of = plan({"kind": "attainment", "pass_margin": 0.05, "scale": 0.05}, blocks=60)
    found = judge(of, Evidence(blocks(of, [60 - good] * 60, [60 - good] * 60)))
    row = found.criteria[0]
    assert (found.outcome, row.good, row.rare) == (outcome, 2 * good * row.k, False)
    if good:
        assert row.k == 20
    else:
        assert "only 0 good requests are too few for their spread to be believed" in found.because


@pytest.mark.parametrize(("good", "passes"), [(29, False), (30, True)])
def test_thirty_good_requests_of_both_arms_are_enough_and_one_fewer_is_not(
    good: int, passes: bool
) -> None:
    a = np.full(40, 60.0)
    a[:good] -= 1
    looks = look(np.zeros(40), a, np.full(40, 60.0), RULE, offered=np.full(40, 120))
    assert bool(looks.passes[-1]) is passes


@pytest.mark.parametrize("margin", [0.01, 0.001])
def test_clean_blocks_are_what_makes_an_unseen_gap_as_unlikely_as_alpha(margin: float) -> None:
    k = math.ceil(float(clean_blocks(0.05, margin)))
    assert (1 - margin) ** k <= 0.05 < (1 - margin) ** (0.98 * k)


def test_bursts_that_fail_whole_blocks_rarely_pass_by_clean_blocks() -> None:
    """The rule counts blocks, not requests: 60 requests of one burst are one event."""
    rng = np.random.default_rng(8)
    burst = np.where(rng.random((4000, 320)) < 0.01, 60.0, 0.0)
    rule = Rule(alpha=0.05, alpha_harm=0.05, pass_margin=0.01, harm_margin=0.0, scale=0.03)
    passed = (
        look(burst / 60, np.zeros_like(burst), burst, rule, offered=np.full_like(burst, 120))
        .passes.any(axis=1)
        .mean()
    )
    assert 0.03 < passed < 0.06


def test_a_budget_uses_its_own_bounds_at_its_looks_only() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.binomial(60, 0.1, (2, 40)).astype(float)
    rule = Rule(
        alpha=0.05, alpha_harm=0.05, pass_margin=0.02, harm_margin=0.0, scale=0.03, planned=40
    )
    looks = look((b - a) / 60, a, b, rule, offered=[120] * len(a))
    assert np.nonzero(np.isfinite(looks.harm_radius))[0].tolist() == [19, 29, 39]
    error = math.sqrt(looks.running.variance[29] / 30)
    assert looks.harm_radius[29] == pytest.approx(bounds(0.025)[2] * error)
    assert round(bounds(0.025)[2], 2) == 2.36


def test_a_simulated_run_gets_the_same_verdict_from_its_blocks() -> None:
    """The harness and the verdict are one piece of arithmetic, so what is held of one holds."""
    of = plan({"kind": "attainment", "pass_margin": 0.02, "scale": 0.04}, blocks=60)
    rng = np.random.default_rng(11)
    outcomes = set()
    for under in (Conditions(), Conditions(latency=0.25), Conditions(base=0.02, requests=120)):
        runs = simulate(under, 15, 60, rng)
        rule = Rule(alpha=0.05, alpha_harm=0.05, pass_margin=0.02, harm_margin=0.0, scale=0.04)
        even = (runs.candidate_bad * 60 / runs.candidate_n).round()
        base = (runs.baseline_bad * 60 / runs.baseline_n).round()
        looks = look((even - base) / 60, base, even, rule, offered=120 * np.ones_like(even))
        for row in range(15):
            found = judge(
                of,
                Evidence(
                    blocks(of, base[row].astype(int).tolist(), even[row].astype(int).tolist())
                ),
            )
            first = {
                name: int(np.argmax(flags[row])) if flags[row].any() else 99
                for name, flags in (("harm", looks.harm), ("pass", looks.passes))
            }
            expected = min(first, key=lambda name: first[name])
            outcomes.add(found.outcome)
            if first[expected] == 99:
                assert found.outcome == "inconclusive"
            else:
                assert (found.outcome, found.k) == (expected, first[expected] + 1)
    assert outcomes == {"harm", "pass", "inconclusive"}


@pytest.mark.parametrize(("harm_margin", "level"), [(0.0, 0.005), (0.01, 0.01)])
def test_radius_and_evidence_share_alpha_where_both_may_call_harm(
    harm_margin: float, level: float
) -> None:
    a, b = np.random.default_rng(4).binomial(60, 0.1, (2, 40)).astype(float)
    looks = look(
        (b - a) / 60,
        a,
        b,
        dataclasses.replace(RULE, harm_margin=harm_margin),
        offered=[120] * 40,
    )
    k = np.arange(1, 41)
    np.testing.assert_array_equal(looks.harm_radius, radius(looks.running.variance, k, level))
    np.testing.assert_array_equal(looks.pass_radius, radius(looks.running.variance, k, 0.05))


@pytest.mark.parametrize(("used", "looked"), [(26, [24, 25]), (33, [24, 32]), (25, [24]), (19, [])])
def test_a_budget_that_lost_blocks_takes_its_last_look_when_they_are_over(
    used: int, looked: list[int]
) -> None:
    a, b = np.random.default_rng(5).binomial(60, 0.1, (2, used)).astype(float)
    rule = dataclasses.replace(RULE, alpha_harm=0.05, planned=33, closed=True)
    looks = look((b - a) / 60, a, b, rule, offered=[120] * len(a))
    assert np.nonzero(np.isfinite(looks.harm_radius))[0].tolist() == looked
    if looked:
        error = math.sqrt(looks.running.variance[-1] / used)
        assert looks.harm_radius[-1] == pytest.approx(bounds(0.025)[-1] * error)


def test_a_gap_shows_at_the_end_of_a_budget_though_an_arm_was_asked_nothing_in_some_blocks() -> (
    None
):
    of = plan(
        {"kind": "attainment"}, budget="fixed", blocks=33, seed=7, stimulus="replay", floor_s=1
    )
    asked = [index % 5 != 0 for index in range(33)]
    counted = [sum(asked[:index]) for index in range(33)]
    # 4 fewer and 10 more by turns: 2.15 standard errors over 26 blocks, 1.91 over 25.
    found = tuple(
        block(of, index, arm(BASELINE, 10, 60), arm(CANDIDATE, 6 if k % 2 == 0 else 20, 60))
        if asked[index]
        else block(of, index, arm(BASELINE, 0, 0), arm(CANDIDATE, 0, 0))
        for index, k in enumerate(counted)
    )
    early = judge(of, Evidence(found[:32]))
    assert (early.outcome, early.state) == ("inconclusive", "running")
    verdict = judge(of, Evidence(found))
    assert (verdict.outcome, verdict.criteria[0].k) == ("harm", sum(asked))
    looked = [point.k for point in course(of, of.criteria[0], found) if point.look]
    before = [point.k for point in course(of, of.criteria[0], found[:32]) if point.look]
    assert (before, looked) == ([25], [25, 26])

"""The listed plants: each is there, measures what its bars ask for, and can be told apart."""

from __future__ import annotations

import math
from typing import Any

import pytest

from schedulers.concurrency.base import ConcurrencyLaw, laws
from simulator.plants import measures as m
from simulator.plants.case import Bar, Case
from simulator.plants.run import Client, Outcome
from simulator.plants.scenarios import CASES, NAMES

OTHERS = ("S10", "S11", "S12", "S13", "S16", "E1", "E2", "E3")
QUICK = [case for case in CASES if case.scenario in ("S1", "S2", "S3", "S5", "S6", "S8")]


def fixed(limit: int) -> Any:
    def make(*, initial: int | None = None) -> ConcurrencyLaw[Any]:
        cls: Any = laws.get("fixed")
        law: ConcurrencyLaw[Any] = cls(size=limit)
        return law

    return make


def case_of(scenario: str, label: str = "") -> Case:
    return next(case for case in CASES if case.scenario == scenario and label in case.label)


def test_every_plant_of_the_list_is_there() -> None:
    assert ("S1", "S1-long", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", *OTHERS) == NAMES
    assert all(case.bars for case in CASES)


@pytest.mark.parametrize("case", QUICK, ids=lambda case: f"{case.scenario} {case.label}")
def test_a_case_measures_all_that_it_is_judged_and_shown_by(case: Case) -> None:
    seen = case.play(fixed(11), 1)
    assert {bar.measure for bar in case.bars} | {"attained", "refused", "settle_s"} <= set(seen)
    assert all(not math.isnan(value) for value in seen.values())
    assert case.play(fixed(11), 1) == seen


def test_the_right_limit_is_at_the_optimum_and_too_high_a_one_is_refused() -> None:
    s1 = case_of("S1", "σ 0.1")
    assert s1.play(fixed(45), 1)["over_optimum"] < 1.03
    assert s1.play(fixed(8), 1)["over_optimum"] == pytest.approx(45 / 8, rel=0.02)
    assert s1.play(fixed(90), 1)["refused"] > 500


def test_half_the_capacity_punishes_a_limit_that_stays() -> None:
    seen = case_of("S2", "σ 0.1").play(fixed(45), 1)
    assert seen["attained"] > 0.98
    assert seen["down"] < 0.4
    assert seen["refused_down"] > 1000
    assert seen["up"] > 0.98


def test_a_longer_route_needs_more_in_flight() -> None:
    s3 = case_of("S3", "σ 0.1")
    assert s3.play(fixed(45), 1)["high"] == pytest.approx(2 / 3, abs=0.02)


def test_equal_limits_are_fair_and_a_bar_holds_the_worst_seed_where_it_says_so() -> None:
    assert case_of("S8").play(fixed(11), 1)["jain"] > 0.99
    assert Bar("x", 1.0, each=True).value([0.0, 3.0]) == 3.0
    assert not Bar("x", 1.0, each=True).met([0.0, 3.0])
    assert Bar("x", 1.5).met([0.0, 3.0])
    assert Bar("x", 1.5, least=True).met([1.0, 3.0])
    assert Bar("x", 1.5, least=True, each=True).value([1.0, 3.0]) == 1.0


def test_measures_read_times_as_half_open_spans() -> None:
    client = Client(fixed(1)(), None, 1, 0)
    client.ended = [1.0, 2.0, 2.5, 3.0]
    client.limits = [(0.0, 4), (1.0, 9), (3.0, 2)]
    seen = Outcome(4.0, (client,))
    assert m.rate(seen, 1.0, 3.0) == 1.5
    assert m.highest(client) == 9
    assert m.highest(client, 3.5, 4.0) == 2
    assert m.mean_limit(client, 0.0, 4.0) == (4 + 9 * 2 + 2) / 4
    assert m.settle(seen, 0.0, 4.0, 1.0) == m.NEVER
    assert m.jain([1.0, 0.0]) == 0.5
    assert math.isnan(m.quantile([], 0.5))

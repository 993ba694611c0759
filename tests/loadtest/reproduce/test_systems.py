"""The source systems at reduced size: what the docs page says of each must hold of it."""

from __future__ import annotations

import math
import pickle
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from loadtest.reproduce import day, day_sums, passing, retry_storm
from loadtest.reproduce.document import document_of
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.series import Series
from loadtest.reproduce.systems import batching
from loadtest.reproduce.systems.base import systems
from loadtest.reproduce.systems.congestion import CongestionSystem
from loadtest.reproduce.table import Reproduction
from schedulers.decision import DecisionPoint
from schedulers.points import registered

PAGE = Path(__file__).parents[3] / "docs" / "source-systems.md"
REDUCED = Plan((1,), reduced=True)
CURVES = {
    "congestion": {"work σ 0.0", "work σ 0.1", "work σ 0.3"},
    "agents": {"its signal: KV cache in use", "agents that are active", "output"},
    "backpressure": {"vip TTFT, mean by arrival", "KV cache in use"},
    "queueing": {"in time"},
    "batching": {"TTFT, mean by hour of arrival", "in time, of arrivals"},
}
"""What each shows along its run, day or sweep."""


@pytest.mark.parametrize("name", systems.all())
def test_every_sentence_about_a_system_is_supported_by_its_numbers(name: str) -> None:
    result = systems.get(name)().play(REDUCED)
    assert [finding.sentence for finding in result.findings if not finding.holds] == []
    assert len(result.findings) >= 3
    for column in ("claimed", "reference", "corrected", "best_fixed", "optimum"):
        if (name, column) != ("agents", "optimum"):  # nobody knows an optimum of that plant
            assert any(getattr(row, column) is not None for row in result.rows), column
    assert {curve.measure for curve in result.curves} == CURVES[name]
    for curve in result.curves:
        for one in curve.lines:
            finite = [series for series in one.points if math.isfinite(series.mean)]
            assert len(finite) >= min(2, len(curve.x)), (curve.case, curve.measure, one)


@pytest.mark.parametrize("name", systems.all())
def test_each_system_has_its_part_of_the_page_with_the_laws_that_it_plays(name: str) -> None:
    text = PAGE.read_text("utf-8")
    part = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert part is not None
    words = re.sub(r"\s+", " ", part[1])
    cls = systems.get(name)
    assert cls.summary in words
    assert cls.laws in words


class _Anything(dict[str, Series]):
    """Numbers of a play that nobody played."""

    def __missing__(self, key: str) -> Series:
        return Series((1.0,))


@pytest.mark.parametrize("name", systems.all())
def test_a_system_goes_through_its_seeds_as_often_as_it_says_and_any_process_could_for_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, passed = systems.get(name)(), []

    def measure(plan: Plan, play: partial[Mapping[str, float]]) -> dict[str, Series]:
        passed.append(plan.seeds)
        assert pickle.loads(pickle.dumps(play)).func is play.func  # noqa: S301 - its own
        return _Anything()

    for module in [one for at, one in sys.modules.items() if at.startswith("loadtest.reproduce")]:
        if hasattr(module, "measure"):
            monkeypatch.setattr(module, "measure", measure)
    monkeypatch.setattr(CongestionSystem, "_expiry", lambda *_: ([], []))
    for reduced in (False, True):
        passed.clear()
        system.play(Plan((1,), reduced=reduced))
        assert len(passed) == system.passes[reduced]


def test_a_day_tells_how_far_it_is_and_is_the_same_summed_or_kept() -> None:
    config = day.engine(day.ENGINES["2024 engine"])
    short, law = day.Day(day.FEW_HOURS, 6.0), registered(DecisionPoint.BATCHING)["continuous"]()
    shares: list[float] = []
    told = day_sums.play(
        short, short.drawn(1), day_sums.Strategy(law), config, 1, tell=shares.append
    )
    kept = passing.through(law, config, short.arrivals(1), 1).served
    assert shares == sorted(shares)
    assert 0.0 <= min(shares) <= max(shares) < 1.0
    good = sum(passing.in_time(one) for one in kept)
    assert told["in time"] == 100.0 * good / len(kept)
    steady = [one for one in kept if short.regime_of(one.arrived_at) == "steady"]
    assert told["steady ttft"] == passing.latencies(steady)["ttft"]


@pytest.mark.parametrize(("scale", "seconds"), [(None, 1_440), (1.0, 86_400), (10.0, 8_640)])
def test_a_plans_scale_is_how_many_times_shorter_than_its_own_an_hour_is(
    scale: float | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[float] = []

    def play(a_day: day.Day, *_: object) -> dict[str, float]:
        played.append(a_day.seconds)
        return {"in time": 1.0}

    monkeypatch.setattr(day_sums, "play", play)
    monkeypatch.setattr(day.Day, "drawn", lambda *_: day.Drawn((), ()))
    plan = Plan((1,), scale=scale)
    batching._begun(plan, day.ENGINES["2024 engine"])
    assert played == [seconds] * 7
    told = document_of("batching", plan, Reproduction((), ()))
    assert told.get("scale") == scale


def test_the_same_seeds_give_the_same_numbers() -> None:
    first, second = (retry_storm.play(REDUCED) for _ in range(2))
    assert first == second
    assert first != retry_storm.play(Plan((2,), reduced=True))

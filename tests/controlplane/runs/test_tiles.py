"""Tiles: what measurement computed, written down, and never at odds with the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.runs.models import Run
from controlplane.runs.panels.base import Row
from controlplane.runs.tiles import tiles
from measurement.run_budget import RunBudget
from measurement.slo import Slo
from tests.controlplane.runs.conftest import SLO

TOTALS = {
    "offered": 400,
    "attainment": 0.9475,
    "attainment_low": 0.92,
    "attainment_high": 0.968,
    "goodput_rps": 18.95,
    "ttft_ms": {"p99": 632.4, "n": 390, "rough": {}},
    "tpot_ms": {"p99": None, "n": 90, "rough": {"p99": 41.26}},
}
JUDGED = {
    "outcome": "fail",
    "attainment": 0.9475,
    "n": 398,
    "effective_n": 120.4,
    "objectives": [
        {"metric": "joint", "outcome": "pass"},
        {"metric": "ttft_ms", "outcome": "fail"},
        {"metric": "tpot_ms", "outcome": "inconclusive"},
    ],
}


def rows(*counts: tuple[int, int, int]) -> list[Row]:
    return [
        Row(2 * i, False, 10, {"resolved": n, "refused": r, "failed": f, "ttft_p99": 500.0 + i})
        for i, (n, r, f) in enumerate(counts)
    ]


def shown(run: Run, cohorts: list[Row], slo: Slo | None) -> dict[str, dict[str, Any]]:
    return {tile["id"]: tile for tile in tiles(run, cohorts, slo)}


@pytest.fixture
def found() -> dict[str, dict[str, Any]]:
    run = Run(live={"totals": TOTALS, "verdict": JUDGED})
    return shown(run, rows((100, 1, 0), (100, 3, 0), (0, 0, 0)), Slo.parse(SLO))


def test_the_tiles_stand_in_order_and_without_objectives_there_is_no_budget(
    found: dict[str, Any],
) -> None:
    rest = ["goodput", "ttft", "tpot", "rejected", "errors"]
    assert list(found) == ["attainment", "budget", *rest]
    assert list(shown(Run(live={}), [], None)) == ["attainment", *rest]


def test_the_budget_is_what_was_missed_of_what_may_be() -> None:
    budget = RunBudget(target=0.9, judged=200, missed=15, elapsed=0.5).to_json()
    run = Run(live={"totals": TOTALS | {"budget": budget}, "verdict": JUDGED})
    tile = shown(run, [], Slo.parse(SLO))["budget"]
    assert (tile["text"], tile["unit"], tile["n_text"]) == ("38", "%", "200")
    assert (tile["target_text"], tile["status"]) == ("≤ 100 %", "ok")


def test_attainment_has_its_interval_both_n_and_its_target(found: dict[str, Any]) -> None:
    tile = found["attainment"]
    assert (tile["text"], tile["unit"], tile["n_text"]) == ("94.75", "%", "398")
    assert (tile["low_text"], tile["high_text"]) == ("92.00", "96.80")
    assert (tile["effective_n"], tile["target_text"]) == (120, "≥ 90.00 %")
    assert tile["min"] < tile["low"] < tile["value"] < tile["high"] < tile["max"] <= 1


def test_a_tiles_status_is_the_verdict_on_its_objective(found: dict[str, Any]) -> None:
    assert found["attainment"]["status"] == "ok"
    assert found["ttft"]["status"] == "bad"
    assert found["tpot"]["status"] == "warn"
    assert found["goodput"]["status"] == "none"
    assert all(tile["judged"] for tile in found.values())


@pytest.mark.parametrize("where", ["judgement", "live"])
def test_nothing_of_an_invalid_run_is_judged(where: str) -> None:
    invalid = JUDGED | {"outcome": "invalid"}
    run = Run(judgement=invalid) if where == "judgement" else Run(live={"verdict": invalid})
    run.summary = TOTALS
    tiles = shown(run, rows((100, 1, 0)), Slo.parse(SLO))
    assert {(tile["status"], tile["judged"]) for tile in tiles.values()} == {("none", False)}
    assert tiles["attainment"]["target_text"] == "≥ 90.00 %"


def test_a_percentile_of_too_few_is_shown_and_marked(found: dict[str, Any]) -> None:
    assert (found["ttft"]["text"], found["ttft"]["enough"]) == ("632", True)
    assert (found["tpot"]["text"], found["tpot"]["enough"]) == ("41.3", False)


def test_refusals_are_a_share_of_the_resolved_with_an_interval(found: dict[str, Any]) -> None:
    tile = found["rejected"]
    assert (tile["text"], tile["n"]) == ("2.00", 200)
    assert tile["low"] < 0.02 < tile["high"]
    assert tile["spark"] == [0.01, 0.03, None]
    assert (found["errors"]["text"], found["errors"]["low"]) == ("0.000", 0.0)


def test_the_report_takes_the_place_of_the_live_totals() -> None:
    summary = TOTALS | {
        "ttft_ms": {"p99": 700.0, "n": 400},
        "intervals": {"ttft_ms": {"p99": {"low": 650.0, "high": 780.0, "effective_n": 99.7}}},
    }
    run = Run(live={"totals": TOTALS}, summary=summary, judgement=JUDGED)
    tile = shown(run, [], Slo.parse(SLO))["ttft"]
    assert (tile["text"], tile["low_text"], tile["high_text"]) == ("700", "650", "780")
    assert tile["effective_n"] == 100


def test_null_is_a_dash_and_never_zero() -> None:
    for tile in shown(Run(live={}), [], None).values():
        assert (tile["value"], tile["text"], tile["n"] or 0) == (None, "–", 0)
        assert (tile["low"], tile["status"], tile["target_text"]) == (None, "none", None)

"""A system over HTTP: what a load test can enforce is played, the rest is refused by its reason."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest

from documents.problem import DocumentError
from loadtest.reproduce import asked, worker
from loadtest.reproduce.plan import Plan
from loadtest.reproduce.series import Series
from loadtest.reproduce.served import playing
from loadtest.reproduce.served.experiment import Claim, Experiment
from loadtest.reproduce.served.playing import play
from loadtest.reproduce.systems.base import systems
from loadtest.reproduce.table import Cell, Finding, Reproduction, Row
from measurement.verdict import EXIT_CODES
from schedulers.enforcement import Host, explain


@pytest.mark.parametrize("name", systems.all())
def test_a_system_is_served_if_and_only_if_a_load_test_enforces_all_its_points(name: str) -> None:
    experiment = systems.get(name).served
    acts = [
        point.acts
        for arm in experiment.arms
        for point in explain(experiment.policy(arm), Host.LOAD_TEST)
    ]
    if acts and all(acts):
        experiment.check(name)
        for arm in experiment.arms:
            parsed = experiment.scenario(arm, "http://127.0.0.1:1", 1, reduced=False)
            assert parsed.policy == experiment.policy(arm)
    else:
        with pytest.raises(DocumentError, match="can't be played over HTTP"):
            experiment.check(name)


@pytest.mark.parametrize(
    ("name", "why"), [("agents", "no agents"), ("batching", "Happens inside the engine")]
)
def test_what_no_client_can_do_is_refused_by_its_reason(name: str, why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        systems.get(name).served.check(name)


def test_a_claim_has_the_numbers_of_the_run_and_holds_only_by_them() -> None:
    claim = Claim(("reference", "answered"), ("corrected", "answered"), "{low} and {high}")
    seen = {
        "reference": {"answered": Series((10.0, 11.0))},
        "corrected": {"answered": Series((99.0, 100.0))},
    }
    assert claim.found(seen).sentence == "10.5 and 99.5"
    assert claim.found(seen).holds
    assert not claim.found({"reference": seen["corrected"], "corrected": seen["reference"]}).holds


def test_one_arm_is_played_against_an_engine_of_its_own_over_http() -> None:
    experiment = systems.get("congestion").served
    alone = dataclasses.replace(
        experiment, arms={"best fixed": experiment.arms["best fixed"]}, claims=()
    )
    result = asyncio.run(play(alone, Plan((1,), reduced=True)))
    answers = result.rows[0].best_fixed
    assert answers is not None
    assert isinstance(answers.value, Series)
    assert answers.value.mean > 1.0
    assert (result.rows[0].reference, result.rows[0].corrected) == (None, None)
    assert "of 1 runs" in result.findings[-1].sentence
    counted = next(row for row in result.rows if row.measure == "valid runs")
    valid = result.findings[-1].holds
    assert counted.best_fixed == Cell("1 of 1" if valid else "0 of 1")
    why = [row.best_fixed for row in result.rows if row.case == "invalid, and why"]
    assert len(why) == (not valid)


def test_an_invalid_run_is_marked_in_the_table_by_its_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = (
        "Only 92.50 % of 800 requests reached the policy within 10 ms of their time, where 99 % "
        "must: the client was too slow. Run it where less else runs, or at a lower rate."
    )

    async def one(_: Experiment, arm: str, seed: int, *, reduced: bool) -> playing._Run:
        assert not reduced
        wrong = (arm, seed) == ("corrected", 2)
        return playing._Run({"answered": 1.0}, playing.brief(late) if wrong else "")

    monkeypatch.setattr(playing, "_one", one)
    experiment = dataclasses.replace(systems.get("congestion").served, claims=())
    result = asyncio.run(play(experiment, Plan((1, 2))))
    counted, why = result.rows[-2:]
    assert counted.measure == "valid runs"
    assert [cell.value if cell else None for cell in counted.cells[1:4]] == [
        "2 of 2", "1 of 2", "2 of 2",
    ]  # fmt: skip
    assert (why.case, why.measure) == ("invalid, and why", "seed 2")
    assert why.corrected == Cell(
        "Only 92.50 % of 800 requests reached the policy within 10 ms of their time"
    )
    assert why.reference == Cell("valid")
    assert not result.findings[-1].holds
    assert "5 of 6 runs" in result.findings[-1].sentence


def test_a_stored_play_over_http_tells_how_far_it_is_and_ends_with_its_document(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The process that a supervisor starts, with a load test that takes no time."""
    row = Row(case="over HTTP", measure="answers", reference=Cell(Series((1.0, 2.0))))

    async def played(_experiment: Experiment, plan: Plan) -> Reproduction:
        for _seed in plan.seeds:
            plan.part(0.5)
            plan.ended()
        return Reproduction((row,), (Finding("It was in time.", True),))

    monkeypatch.setattr(asked.over_http, "play", played)
    words = ["--system", "congestion", "--served", "--seeds", "2"]
    assert worker.main(words) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == ["started", "progress", "finished"]
    assert (lines[1]["done"], lines[1]["of"]) == (0.0, 2)
    summary = lines[2]["summary"]
    assert (summary["runs"], summary["result"]["system"]) == (2, "congestion-served")


def test_a_stored_play_that_no_load_test_can_play_is_bad_configuration(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert worker.main(["--system", "agents", "--served"]) == EXIT_CODES["bad_configuration"]
    assert "no agents whose contexts grow" in capfd.readouterr().out

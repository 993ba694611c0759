"""The words of a verdict, in every state of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from controlplane.runs.models import Run, Status
from controlplane.runs.quiet import Quiet
from controlplane.runs.tiles import tiles
from controlplane.runs.verdicts import notes, verdict
from measurement.cohort import Cohort
from measurement.events import Events
from measurement.run_budget import RunBudget
from measurement.slo import Slo
from measurement.window import Window
from tests.gateway.serving import slo as slo_document

BECAUSE = "Passes because 99 % did."


def a_run(status: str, outcome: str | None = None, *, slo: bool = True, **more: Any) -> Run:
    judged = {"outcome": outcome, "because": BECAUSE, "reasons": [], "warnings": []}
    live = {} if outcome is None else {"verdict": judged}
    ended = status in ("done", "failed", "cancelled", "lost")
    return Run(
        status=status,
        live=live,
        judgement=judged if ended and outcome else None,
        slo_version_id="018f0000-0000-7000-8000-000000000000" if slo else None,
        **more,
    )


@pytest.mark.parametrize(
    ("outcome", "so_far", "final"),
    [
        ("pass", "Passing", "Passed"),
        ("fail", "Failing", "Failed"),
        ("inconclusive", "Not sure yet", "Inconclusive"),
        ("invalid", "Invalid", "Invalid"),
    ],
)
def test_an_outcome_has_a_word_on_the_way_and_one_at_the_end(
    outcome: str, so_far: str, final: str
) -> None:
    live, ended = verdict(a_run("running", outcome)), verdict(a_run("done", outcome))
    assert (live["outcome"], live["word"], live["state"]) == (outcome, so_far, "so far")
    assert (ended["outcome"], ended["word"], ended["state"]) == (outcome, final, "final")
    assert live["because"] == ended["because"] == BECAUSE


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("queued", "Queued"),
        ("running", "Starting"),
        ("cancelling", "Stopping"),
        ("done", "No verdict"),
        ("failed", "Could not run"),
        ("cancelled", "Cancelled"),
        ("lost", "Lost"),
    ],
)
def test_a_run_with_nothing_to_judge_says_its_state(status: str, word: str) -> None:
    said = verdict(a_run(status))
    assert (said["outcome"], said["word"]) == ("none", word)
    assert said["because"]


def test_a_failed_run_that_had_sent_load_does_not_say_that_it_never_began() -> None:
    said = verdict(a_run("failed", load_started_at=timezone.now(), reason="No space left."))
    assert said["word"] == "Broke off"
    assert said["because"] == "The load test ended with a fault. No space left."


def test_every_status_has_its_words() -> None:
    for status in Status:
        assert verdict(a_run(status))["word"]


@pytest.mark.parametrize("status", ["cancelled", "lost"])
def test_a_stopped_run_shows_no_verdict_but_what_it_had_measured(status: str) -> None:
    said = verdict(a_run(status, "pass", reason="Because."))
    assert (said["outcome"], said["because"]) == ("none", "Because.")
    assert said["detail"] == f"Measured until then: {BECAUSE}"


def test_without_objectives_a_pass_is_no_verdict() -> None:
    said = verdict(a_run("done", "pass", slo=False))
    assert (said["outcome"], said["word"]) == ("none", "No objectives")
    assert verdict(a_run("done", "invalid", slo=False))["outcome"] == "invalid"


def test_the_detail_has_the_notes_and_warnings_that_the_reason_has_not() -> None:
    run = a_run("done", "fail", summary={"notes": ["No request succeeded."]})
    run.judgement |= {"reasons": [BECAUSE, "Also E2E."], "warnings": ["2 were excluded."]}
    assert verdict(run, notes(run))["detail"] == "No request succeeded. Also E2E. 2 were excluded."


def test_a_run_whose_engine_says_nothing_does_not_pass_so_far() -> None:
    run = a_run("running", "pass")
    run.live["quiet"] = {"quiet_s": 12.0, "waiting": 32}
    said = verdict(run)
    assert (said["outcome"], said["word"], said["state"]) == (
        "inconclusive", "Engine quiet", "so far",
    )  # fmt: skip
    assert "no token has come for 0:12, while 32 requests wait" in said["because"]
    assert said["detail"] == BECAUSE
    run.live["quiet"]["quiet_s"] = 9.0
    assert verdict(run)["word"] == "Passing"


def test_tiles_of_a_run_whose_engine_says_nothing_are_not_green_and_count_who_is_late() -> None:
    slo = Slo.parse(slo_document(ttft_ms=500))
    run = a_run("running", "pass", scenario={"duration_s": 60})
    joint = {"metric": "joint", "outcome": "pass"}
    run.live["verdict"] |= {"n": 80, "attainment": 1.0, "objectives": [joint]}
    budget = RunBudget(0.9, 80, 0, 0.5).to_json()
    run.live["totals"] = {"attainment": 1.0, "budget": budget}
    run.live["quiet"] = {"quiet_s": 9.0, "waiting": 32, "overdue": 20}
    well, left, *_rest = tiles(run, [], slo)
    assert (well["status"], well["value"], left["value"]) == ("ok", 1.0, 0.0)
    run.live["quiet"]["quiet_s"] = 12.0
    shown, spent, *_rest = tiles(run, [], slo)
    assert (shown["status"], shown["word"]) == ("none", "engine quiet")
    assert (shown["value"], shown["n"]) == (0.8, 100)
    assert shown["note"] == "20 waiting past their objective, counted as missed"
    assert (spent["status"], spent["value"]) == ("none", pytest.approx(20 / (0.1 * 100 / 0.5)))
    assert "20 of them past their objective already" in verdict(run)["because"]


def test_a_failing_tile_stays_red_while_the_engine_says_nothing() -> None:
    run = a_run("running", "fail", scenario={"duration_s": 60})
    run.live["verdict"]["objectives"] = [{"metric": "joint", "outcome": "fail"}]
    run.live["quiet"] = {"quiet_s": 12.0, "waiting": 1, "overdue": 0}
    assert tiles(run, [], None)[0]["status"] == "bad"
    said = verdict(run)
    assert (said["outcome"], said["word"]) == ("fail", "Engine quiet")
    assert "Failing, and no token has come for 0:12, while 1 request waits" in said["because"]


def waiting_since(index: int, count: int, **events: int) -> Window:
    made = window(index, **events)
    return replace(made, cohort=Cohort(offered=count))


def test_those_asked_after_the_last_token_are_late_once_the_objective_has_passed() -> None:
    slo = Slo.parse(slo_document(ttft_ms=1500, e2e_ms=6000))
    quiet = Quiet(slo, since=1.0)
    quiet.take([waiting_since(0, 7, in_flight=7), waiting_since(1, 3, tokens=9, in_flight=4)])
    quiet.take([waiting_since(second, 2, in_flight=9) for second in (2, 3, 4)])
    assert quiet.to_json()["overdue"] == 2  # of second 2; those of second 1 may have begun
    quiet.take([waiting_since(second, 0, in_flight=9) for second in (5, 6, 7, 8)])
    assert quiet.to_json()["overdue"] == 9  # second 1 has not ended in time; 0 was warm-up
    quiet.take([window(2, in_flight=9)])  # revised: they have ended
    assert quiet.to_json()["overdue"] == 7


def window(index: int, *, tokens: int = 0, in_flight: int = 0) -> Window:
    events = Events(tokens=tokens, in_flight_us=in_flight * 1_000_000, in_flight_span_us=1_000_000)
    return Window(index, float(index), 1.0, 1, final=True, events=events, cohort=Cohort())


def test_silence_is_counted_from_the_last_token_while_requests_wait() -> None:
    quiet = Quiet()
    assert quiet.to_json() == {"quiet_s": 0.0, "waiting": 0, "overdue": 0}
    quiet.take([window(0, tokens=9, in_flight=4), window(1, tokens=3, in_flight=4)])
    assert quiet.to_json() == {"quiet_s": 0.0, "waiting": 4, "overdue": 0}
    quiet.take([window(2, in_flight=4), window(3, in_flight=6)])
    assert quiet.to_json() == {"quiet_s": 2.0, "waiting": 6, "overdue": 0}
    quiet.take([window(2, tokens=1, in_flight=4)])  # revised
    assert quiet.to_json()["quiet_s"] == 1.0
    quiet.take([window(4)])
    assert quiet.to_json() == {"quiet_s": 0.0, "waiting": 0, "overdue": 0}

"""The words of a verdict, in every state of a run."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from controlplane.runs.models import Run, Status
from controlplane.runs.quiet import Quiet
from controlplane.runs.verdicts import notes, verdict
from measurement.cohort import Cohort
from measurement.events import Events
from measurement.window import Window

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


def window(index: int, *, tokens: int = 0, in_flight: int = 0) -> Window:
    events = Events(tokens=tokens, in_flight_us=in_flight * 1_000_000, in_flight_span_us=1_000_000)
    return Window(index, float(index), 1.0, 1, final=True, events=events, cohort=Cohort())


def test_silence_is_counted_from_the_last_token_while_requests_wait() -> None:
    quiet = Quiet()
    assert quiet.to_json() == {"quiet_s": 0.0, "waiting": 0}
    quiet.take([window(0, tokens=9, in_flight=4), window(1, tokens=3, in_flight=4)])
    assert quiet.to_json() == {"quiet_s": 0.0, "waiting": 4}
    quiet.take([window(2, in_flight=4), window(3, in_flight=6)])
    assert quiet.to_json() == {"quiet_s": 2.0, "waiting": 6}
    quiet.take([window(2, tokens=1, in_flight=4)])  # revised
    assert quiet.to_json()["quiet_s"] == 1.0
    quiet.take([window(4)])
    assert quiet.to_json() == {"quiet_s": 0.0, "waiting": 0}

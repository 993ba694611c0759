"""Reports: each format renders a good run, a bad one and an empty one, and files appear whole."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.running.progress import Progress
from loadtest import publishing
from loadtest.conclusion import CANCELLED, FINISHED, LOST, Conclusion, Seen, conclude
from loadtest.facts import Facts, make_schedule
from loadtest.inflight import Flight
from loadtest.outline import Outline
from loadtest.reports.base import formats
from loadtest.scenario import Scenario
from loadtest.schedule import WHOLE
from loadtest.throttling import Throttled
from measurement.column_builder import columns_of
from measurement.doubted import Doubted, Stall
from measurement.histogram import Histogram
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
from schedulers.runtime.shadow import Divergence, ShadowReport
from tests.loadtest.test_scenario import POLICY, document


def conclusion(
    *,
    outcome: Outcome = Outcome.TRUNCATED,
    status: str = FINISHED,
    stopped_at: float = 60.0,
    lag: float = 0.0002,
    drop: int = 0,
    early: Outcome | None = None,
    error: str = "",
    doubted: int = 0,
    late: int = 0,
    windows: Sequence[Outline] = (),
    stalls: tuple[Stall, ...] = (),
    throttled: Throttled | None = None,
    sent_late: Callable[[float], bool] = lambda _: False,
    **changes: Any,
) -> Conclusion:
    """A run in which every request became ``outcome``; the last ``drop`` samples are missing.

    With ``early``, what was due in the first half ended as that.
    """
    given = {"workload": {"kind": "fixed", "output_tokens": 8}, "policy": POLICY}
    scenario = Scenario.parse(document(**{**given, **changes}))
    schedule = make_schedule(scenario, salt="s", part=WHOLE)
    facts = Facts(1_700_000_000.0, "0.1.0", schedule.offered, "s")
    jobs = [job for job in schedule.jobs() if job.intended_at <= stopped_at]
    samples = [
        sample(Flight(job), early if early and job.intended_at < 30 else outcome)
        for job in jobs[: len(jobs) - drop]
    ]
    samples = [dataclasses.replace(it, error=error) for it in samples]
    samples = [
        dataclasses.replace(it, handed_at=it.intended_at + 0.5) if sent_late(it.intended_at) else it
        for it in samples
    ]
    seen = Seen(
        windows=windows,
        stalls=stalls,
        throttled=throttled,
        stopped_at=stopped_at,
        loop_lag=Histogram.of([lag] * 100),
        doubted_gaps=Doubted(100, doubted, 0.3),
        doubted_firsts=Doubted(100, late, 0.3),
    )
    return conclude(columns_of(samples), scenario, facts, seen, status)


def test_the_table_says_what_came_of_the_shadow() -> None:
    shadow = copy.deepcopy(POLICY)
    shadow["metadata"]["name"] = "tight"
    shadow["spec"]["concurrency"]["limit"] = 8
    made = conclusion(shadow=shadow)
    report = ShadowReport(100, 90, Divergence(4.2, 64, 8), would_have_held=7, granted=80)
    seen = dataclasses.replace(made.seen, shadow=report)
    said = publishing.render("table", dataclasses.replace(made, seen=seen))
    assert "Shadow tight, never obeyed:\n  Agreed in 90.0 % of 100 steps; first diverged" in said
    assert "7 of 80 requests" in said
    assert "Nothing of it was written down." in publishing.render("table", made)
    assert "Shadow" not in publishing.render("table", conclusion())


def sample(flight: Flight, outcome: Outcome) -> Sample:
    job = flight.job
    at = job.intended_at
    if not outcome.success:
        flight.handed_at = flight.admitted_at = flight.sent_at = at
        return flight.given_up(outcome, at + 0.01)
    return Sample(
        index=job.index,
        tenant=job.shape.tenant,
        intended_at=at,
        outcome=outcome,
        handed_at=at,
        admitted_at=at,
        sent_at=at + 0.001,
        first_token_at=at + 0.101,
        first_answer_at=at + 0.101,
        last_token_at=at + 0.171,
        done_at=at + 0.172,
        prompt_tokens=64,
        output_tokens=8,
        token_source=TokenSource.USAGE,
        first_chunk_tokens=1,
        chunks=8,
        gaps=(0.01,) * 7,
        status=200,
    )


def summary(it: Conclusion) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(publishing.render("json", it))
    return found


def test_a_good_run_passes_and_says_so() -> None:
    it = conclusion()
    assert (it.exit_code, it.verdict.outcome, it.notes) == (0, "pass", ())
    assert summary(it)["ttft_ms"]["p50"] == pytest.approx(101)
    table = publishing.render("table", it)
    assert "PASS" in table
    assert "101.0" in table
    assert all(len(line) <= 100 for line in table.splitlines() if "because" not in line)


def test_a_run_of_failures_fails_and_says_how_they_ended() -> None:
    it = conclusion(outcome=Outcome.REJECTED_429)
    assert it.exit_code == 10
    assert summary(it)["outcomes"] == {"rejected_429": it.facts.scheduled}
    assert summary(it)["ttft_ms"]["p50"] is None
    (failure,) = summary(it)["failures"]
    assert (failure["outcome"], failure["share"]) == ("rejected_429", 1.0)
    table = publishing.render("table", it)
    assert "FAIL" in table
    assert "rejected_429" in table
    assert "No request succeeded" in table


def test_a_run_without_a_success_never_exits_with_0() -> None:
    it = conclusion(outcome=Outcome.CONNECT, slo=None)
    assert (it.verdict.outcome, it.exit_code) == ("fail", 30)
    assert "FAIL" in publishing.render("table", it)


def test_an_engines_words_cant_steer_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x7fbad\tgateway"
    it = conclusion(outcome=Outcome.HTTP_5XX, error=evil)
    assert evil in it.notes[0]
    table, told = publishing.render("table", it), io.StringIO()
    Progress(stream=told).concluded(it)
    for text in (table, told.getvalue()):
        assert "bad gateway" in text
        assert not [mark for mark in text if unicodedata.category(mark) == "Cc" and mark != "\n"]
    assert summary(it)["failures"][0]["first_error"] == evil


def test_only_what_is_judged_can_make_a_pass() -> None:
    it = conclusion(outcome=Outcome.CONNECT, slo=None, warm_up_s=30, early=Outcome.TRUNCATED)
    assert any(outcome.success for outcome in it.summary.whole.outcomes)
    assert (it.verdict.outcome, it.exit_code) == ("fail", 30)


def test_a_run_in_which_nothing_was_offered_never_exits_with_0() -> None:
    arrivals = {"process": "poisson", "rate": 1e-6}
    it = conclusion(slo=None, arrivals=arrivals)
    assert it.facts.scheduled == 0
    assert (it.verdict.outcome, it.verdict.n, it.exit_code) == ("inconclusive", 0, 30)
    assert conclusion(arrivals=arrivals).exit_code == 12


def test_a_lost_run_without_a_judged_request_is_no_pass() -> None:
    it = conclusion(slo=None, status=LOST, stopped_at=0.0)
    assert (it.verdict.outcome, it.exit_code) == ("inconclusive", 30)


def test_without_objectives_a_run_that_works_passes() -> None:
    it = conclusion(slo=None)
    assert (it.exit_code, it.verdict.label) == (0, "no objectives")


def test_a_request_without_an_outcome_makes_the_run_invalid() -> None:
    it = conclusion(drop=1)
    assert it.exit_code == 13
    assert "reconcile" in it.verdict.because
    assert "INVALID" in publishing.render("table", it)


def test_a_client_that_lagged_makes_the_run_invalid() -> None:
    assert conclusion(lag=0.3).exit_code == 13


def test_longest_gaps_that_may_be_the_clients_own_are_told_and_judged_by_nobody() -> None:
    told = conclusion(doubted=4)
    assert told.exit_code == 0
    [warning] = told.validity.warnings
    assert "4.0 % of the answers may be up to 300 ms too long" in warning
    assert warning in publishing.render("table", told).replace("\n", " ")
    assert conclusion(doubted=3).validity.warnings == ()

    slo = copy.deepcopy(document()["slo"])
    slo["spec"]["objectives"].append({"metric": "longest_gap_ms", "max": 100})
    judged = conclusion(doubted=4, slo=slo)
    assert (judged.exit_code, judged.validity.warnings) == (13, ())
    assert "the client stood still" in judged.verdict.because
    assert conclusion(doubted=3, slo=slo).exit_code == 0


def test_first_tokens_that_may_be_late_for_our_own_cause_make_it_invalid() -> None:
    it = conclusion(late=4)
    assert it.exit_code == 13
    assert "The first token of 4.0 % of the answers may be up to 300 ms too late" in (
        it.verdict.because
    )
    assert conclusion(late=3).exit_code == 0


def paused(since: int, until: int) -> list[Outline]:
    """A minute's windows in which requests wait, and the engine says nothing from then until."""
    return [
        Outline(second, second + 1, 40_000_000, 1_000_000, 40, 20, 0, not since <= second < until)
        for second in range(60)
    ]


def test_a_client_that_was_late_in_the_burst_after_an_engines_pause_says_so_first() -> None:
    it = conclusion(windows=paused(20, 34), sent_late=lambda at: 33.5 < at < 36.5)
    assert it.exit_code == 13
    assert "The engine said nothing from 20 s to 34 s, while up to 40 requests waited: " in (
        it.verdict.because
    )
    many = it.validity.numbers["late_windows"][0]["requests"]
    assert many > 20
    assert (
        f"{many} of the {many} requests that the client sent late were due from 33 s to 37 s"
        in (it.verdict.because)
    )
    assert it.validity.numbers["late_windows"] == [{"from": 33, "to": 37, "requests": many}]
    assert any("the client was too slow" in reason for reason in it.validity.reasons)


def test_an_engines_pause_that_made_nobody_late_is_told_and_the_run_is_valid() -> None:
    it = conclusion(windows=paused(20, 34))
    assert it.exit_code == 0
    assert it.validity.warnings == (
        "The engine said nothing from 20 s to 34 s, while up to 40 requests waited.",
    )
    assert conclusion(windows=paused(20, 25)).validity.warnings == ()


def test_a_slow_engine_is_not_blamed_for_a_client_that_is_late_all_the_time() -> None:
    it = conclusion(windows=paused(20, 25), sent_late=lambda at: at % 1 < 0.2)
    assert it.exit_code == 13
    assert not [one for one in it.validity.reasons if "The engine said nothing" in one]


def test_many_pauses_are_one_sentence() -> None:
    windows = [*paused(5, 16)[:20], *paused(22, 36)[20:40], *paused(42, 53)[40:]]
    [warning] = conclusion(windows=windows).validity.warnings
    assert warning == (
        "The engine said nothing from 22 s to 36 s, while up to 40 requests waited, and 2 more "
        "times for 10 s or longer."
    )


def test_a_client_that_stood_still_itself_does_not_say_that_the_engine_did() -> None:
    it = conclusion(
        windows=paused(20, 34), stalls=((19.5, 34.5),), sent_late=lambda at: 19.5 < at < 34.5
    )
    assert it.exit_code == 13
    assert not any("The engine said nothing" in reason for reason in it.validity.reasons)


def test_a_client_whose_cpu_was_limited_names_the_limit() -> None:
    limited = conclusion(throttled=Throttled(31, 2.4), sent_late=lambda at: at < 30)
    assert limited.exit_code == 13
    assert "held its processes back in 31 periods, for 2.4 s" in limited.verdict.because
    fast = conclusion(throttled=Throttled(1, 0.01))
    assert (fast.exit_code, len(fast.validity.warnings)) == (0, 1)
    assert "held its processes back once" in fast.validity.warnings[0]
    assert conclusion(throttled=Throttled(0, 0.0)).validity.warnings == ()


def test_a_cancelled_run_is_judged_over_the_time_that_it_had() -> None:
    it = conclusion(status=CANCELLED, stopped_at=20.0)
    assert it.exit_code == 130
    assert it.validity.valid
    assert it.summary.duration == 20.0
    assert summary(it)["offered_rate"] == pytest.approx(20, rel=0.3)
    assert "(cancelled)" in publishing.render("table", it)


def test_a_lost_run_is_infrastructure() -> None:
    it = conclusion(status=LOST)
    assert it.exit_code == 30
    assert "lost" in summary(it)["notes"][0]


def test_warm_up_is_cut_and_named() -> None:
    it = conclusion(warm_up_s=10)
    cut = summary(it)["cut"]
    assert cut["warm_up_s"] == 10
    assert cut["whole"]["offered"] == it.facts.scheduled
    assert cut["requests_cut"] == it.summary.whole.offered - it.summary.steady.offered > 0


def test_an_automatic_warm_up_is_named_with_its_method() -> None:
    it = conclusion(warm_up="auto")
    cut = summary(it)["cut"]
    assert cut["method"] == "auto"
    assert cut["detected"]["method"] == "MSER-5"
    assert cut["warm_up_s"] == cut["detected"]["cut_s"]
    assert "MSER-5: " in publishing.render("table", it)


def test_an_automatic_warm_up_that_finds_nothing_says_that_the_numbers_are_the_whole_runs() -> None:
    it = conclusion(warm_up="auto", duration_s=8.0)
    assert summary(it)["cut"]["requests_cut"] == 0
    assert "too short to tell" in summary(it)["notes"][0]


def test_the_report_says_what_is_enforced_here() -> None:
    policy = summary(conclusion())["policy"]
    assert policy["name"] == "p"
    assert [(row["point"], row["mode"]) for row in policy["enforcement"]] == [
        ("concurrency", "enforced")
    ]


@pytest.mark.parametrize("name", formats.all())
def test_every_format_renders_a_run_in_which_nothing_happened(name: str) -> None:
    it = conclusion(stopped_at=0.0, status=CANCELLED)
    assert it.exit_code == 130
    assert "No request was offered" in publishing.render(name, it)


@pytest.mark.parametrize("name", formats.all())
def test_every_format_renders_several_tenants(name: str) -> None:
    workload = {"kind": "fixed", "output_tokens": 8, "tenants": {"vip": 1, "batch": 3}}
    text = publishing.render(name, conclusion(workload=workload))
    assert "vip" in text
    assert "batch" in text


def test_files_are_written_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    it = conclusion()
    publishing.write_files(it, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    assert json.loads((tmp_path / "summary.json").read_text()) == summary(it)

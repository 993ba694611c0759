"""A simulated load test: what a load test tells, labelled as a model, the same each time."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from documents.problem import DocumentError
from loadtest import facts, recorder
from loadtest.conclusion import Conclusion
from loadtest.scenario import Scenario
from loadtest.simulate import Options, simulate
from loadtest.traces.base import Traced
from loadtest.traces.replayed import Trace, parts
from measurement.outcome import Outcome
from measurement.sample import Sample
from simulator import profile as profiles
from simulator.virtual import Arrival, replay

PROFILE = profiles.load(profiles.DEFAULT)
FIXED = {"kind": "fixed", "prompt_tokens": 500, "output_tokens": 40}


def scenario(**changed: Any) -> Scenario:
    given: dict[str, Any] = {
        "endpoint": {"base_url": "http://model.invalid", "model": "m", "kind": "simulated"},
        "workload": FIXED,
        "arrivals": {"process": "poisson", "rate": 5},
        "duration_s": 20,
        "prompt_salt": "s",
    }
    return Scenario.parse(given | changed)


def played(tmp_path: Path, asked: Scenario, **options: Any) -> tuple[Conclusion, list[Sample]]:
    conclusion = simulate(asked, PROFILE, name="p", options=Options(out=tmp_path, **options))
    return conclusion, sorted(recorder.read_samples(tmp_path), key=lambda sample: sample.index)


def test_without_a_policy_requests_are_served_as_a_replay_serves_them(tmp_path: Path) -> None:
    asked = scenario()
    _, samples = played(tmp_path, asked)
    load = [Arrival(each.intended_at, 500, 40) for each in samples]
    served = replay(load, PROFILE, seed=asked.seed)
    assert [each.ttft for each in samples] == pytest.approx(
        [each.ttft for each in served], abs=1e-6
    )
    assert [each.e2e for each in samples] == pytest.approx([each.e2e for each in served], abs=1e-6)
    assert all(len(each.gaps) == 39 for each in samples)
    assert samples[0].mean_gap == pytest.approx(served[0].tpot)


def test_its_files_are_those_of_a_run(tmp_path: Path) -> None:
    slo = {
        "apiVersion": "headway/v1", "kind": "SLO", "metadata": {"name": "s", "owner": "o"},
        "spec": {"target": 0.9, "objectives": [{"metric": "ttft_ms", "max": 800}]},
    }  # fmt: skip
    policy = {
        "apiVersion": "headway/v1", "kind": "Policy", "metadata": {"name": "p", "owner": "o"},
        "spec": {"concurrency": {"law": "aimd"}},
    }  # fmt: skip
    asked = scenario(slo=slo, policy=policy)
    conclusion, samples = played(tmp_path, asked)
    assert facts.read(tmp_path)[0] == asked
    windows = recorder.read_windows(tmp_path)
    assert sum(window.events.tokens for window in windows) == 40 * len(samples)
    assert sum(window.cohort.offered for window in windows) == len(samples)
    assert max(window.events.running or 0 for window in windows) > 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["verdict"] == conclusion.verdict.outcome == "pass"
    assert summary["validity"]["status"] == "valid"
    decisions = list(recorder.read_decisions(tmp_path))
    assert len(decisions) == summary["policy"]["decisions"] > 0
    assert [each["mode"] for each in summary["policy"]["enforcement"]] == ["enforced"]


def test_it_is_labelled_as_a_model_with_its_stated_error(tmp_path: Path) -> None:
    conclusion, _ = played(tmp_path, scenario())
    assert conclusion.notes[0].startswith("A model, not a measurement: profile p (Qwen3-32B")
    assert "Mean TPOT error 3.6 %" in conclusion.notes[0]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["model"]["mean_tpot_error_percent"] == 3.6


def test_the_same_scenario_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        played(tmp_path / name, scenario())
    for file in (recorder.SAMPLES, recorder.WINDOWS, recorder.SUMMARY):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_law_holds_requests_back_as_in_a_load_test(tmp_path: Path) -> None:
    policy = {
        "apiVersion": "headway/v1", "kind": "Policy", "metadata": {"name": "p", "owner": "o"},
        "spec": {"concurrency": {"law": "fixed", "limit": 2}},
    }  # fmt: skip
    _, samples = played(tmp_path, scenario(policy=policy))
    assert max(window.events.in_flight_max or 0 for window in recorder.read_windows(tmp_path)) == 2
    assert any((each.hold or 0.0) > 0.1 for each in samples)
    assert all(each.client_lag == 0.0 for each in samples)


def test_a_closed_loop_asks_again_after_each_answer(tmp_path: Path) -> None:
    arrivals = {"process": "closed", "concurrency": 3, "think_s": 0.5}
    conclusion, samples = played(tmp_path, scenario(arrivals=arrivals))
    assert conclusion.seen.launched == len(samples)
    first, second = (
        samples[0],
        min((each for each in samples[3:]), key=lambda each: each.intended_at),
    )
    assert second.intended_at == pytest.approx(min(each.done_at for each in samples[:3]) + 0.5)
    assert first.intended_at == 0.0


def test_the_engine_may_refuse_and_a_prompt_may_be_too_long(tmp_path: Path) -> None:
    arrivals = {"process": "constant", "rate": 10}
    _, full = played(tmp_path, scenario(arrivals=arrivals), overrides={"max_queued_requests": 1})
    assert {each.outcome for each in full} == {Outcome.TRUNCATED, Outcome.REJECTED_503}
    assert all(each.status == 503 for each in full if not each.outcome.success)
    _, long = played(tmp_path, scenario(), overrides={"max_model_len": 520})
    assert {(each.outcome, each.status) for each in long} == {(Outcome.HTTP_4XX, 400)}


def test_who_waits_too_long_gives_up_and_frees_the_engine(tmp_path: Path) -> None:
    overrides = {"max_seqs": 1, "token_budget": 512}
    asked = scenario(
        timeouts={"first_token_s": 2, "total_s": 3}, arrivals={"process": "constant", "rate": 4}
    )
    _, samples = played(tmp_path, asked, overrides=overrides)
    late = [each for each in samples if each.outcome is Outcome.TIMEOUT_FIRST_TOKEN]
    assert late
    assert all(each.done_at == pytest.approx(each.sent_at + 2) for each in late)
    cut = [each for each in samples if each.outcome is Outcome.TIMEOUT_TOTAL]
    assert all(0 < each.chunks < 40 for each in cut)


def test_what_is_open_at_the_deadline_is_unfinished(tmp_path: Path) -> None:
    workload = FIXED | {"output_tokens": 2000}
    _, samples = played(tmp_path, scenario(workload=workload, drain_s=1))
    assert {each.outcome for each in samples} == {Outcome.UNFINISHED}
    assert all(each.done_at == 21.0 for each in samples)
    assert 0 < samples[0].chunks < 2000
    said = sum(window.events.tokens for window in recorder.read_windows(tmp_path))
    assert said == sum(each.chunks for each in samples)


def test_a_trace_is_replayed_with_its_lengths_and_prefixes(tmp_path: Path) -> None:
    trace = Trace(
        "t",
        "0" * 64,
        (
            Traced(0.0, 1030, 5, (1, 2, 3), 512),
            Traced(3.0, 1024, 6, (1, 2), 512),
        ),
    )
    arrivals, workload = parts(trace)
    asked = dataclasses.replace(scenario(), arrivals=arrivals, workload=workload)
    conclusion, samples = played(tmp_path, asked, trace=trace)
    assert [(each.prompt_tokens, each.output_tokens) for each in samples] == [(1030, 5), (1024, 6)]
    assert conclusion.seen.model["prompt_tokens_found"] == 1008
    assert conclusion.validity.valid
    assert json.loads((tmp_path / recorder.SCENARIO).read_text())["arrivals"] == {
        "process": "trace", "file": "t", "sha256": "0" * 64,
    }  # fmt: skip


def test_what_the_model_does_not_do_is_refused_and_never_passed_over() -> None:
    policy, shadow = (
        {
            "apiVersion": "headway/v1",
            "kind": "Policy",
            "metadata": {"name": name},
            "spec": {"concurrency": {"law": "fixed", "limit": limit}},
        }
        for name, limit in (("wide", 48), ("narrow", 4))
    )
    with pytest.raises(DocumentError) as refused:
        simulate(scenario(policy=policy, shadow=shadow), PROFILE)
    assert [problem.path for problem in refused.value.problems] == ["shadow"]


def test_the_recommended_law_holds_nobody_back_for_long_at_a_start_without_congestion(
    tmp_path: Path,
) -> None:
    """It took twenty seconds, as it learned of first tokens only when their answers ended."""
    chat = {"kind": "fixed", "prompt_tokens": 220, "output_tokens": 160}
    law = {"law": "adaptive_bdp", "signal": "ttft"}
    policy = {
        "apiVersion": "headway/v1", "kind": "Policy",
        "metadata": {"name": "p", "owner": "o"}, "spec": {"concurrency": law},
    }  # fmt: skip
    asked = scenario(workload=chat, arrivals={"process": "constant", "rate": 6}, policy=policy)
    _, samples = played(tmp_path, asked)
    assert max(each.ttft or 60.0 for each in samples if each.intended_at > 10.0) < 0.8

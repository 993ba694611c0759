"""The preview shows the very schedule that a run of the scenario computes."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from loadtest.facts import make_schedule
from loadtest.preview import preview
from loadtest.scenario import Scenario
from loadtest.schedule import WHOLE
from tests.loadtest.test_scenario import document


def test_totals_are_those_of_the_schedule() -> None:
    given = document(workload={"kind": "synthetic", "prompt_tokens_sigma": 0.7})
    shown = preview(given)
    jobs = list(make_schedule(Scenario.parse(given), salt="", part=WHOLE).jobs())
    assert shown.requests == len(jobs)
    assert shown.prompt_tokens == sum(job.shape.prompt_tokens for job in jobs)
    assert shown.output_tokens == sum(job.shape.output_tokens for job in jobs)
    assert shown.exact


def test_the_rate_over_time_adds_up_to_the_requests() -> None:
    shown = preview(document(duration_s=90))
    steps = len(shown.rate)
    assert steps == 60
    assert sum(rate for _, rate in shown.rate) * 90 / steps == pytest.approx(shown.requests)
    assert [at for at, _ in shown.rate][:3] == [0.0, 1.5, 3.0]


def test_a_changing_rate_is_drawn_as_it_changes() -> None:
    steps = {"process": "steps", "from_rate": 100, "to_rate": 400, "levels": 4}
    rates = [rate for _, rate in preview(document(duration_s=40, arrivals=steps)).rate]
    held = [sum(rates[start : start + 10]) / 10 for start in range(0, 40, 10)]
    assert held == pytest.approx([100, 200, 300, 400], rel=0.15)


def test_bars_hold_every_request_once() -> None:
    shown = preview(document(workload={"kind": "synthetic", "prompt_tokens_sigma": 1.0}))
    for bars in (shown.prompt_lengths, shown.output_lengths):
        assert sum(bar.count for bar in bars) == shown.requests
        assert all(one.high < other.low for one, other in pairwise(bars))
        assert len(bars) <= 24


def test_a_closed_loop_has_no_totals_before_it_runs() -> None:
    shown = preview(document(arrivals={"process": "closed", "concurrency": 8}))
    assert (shown.requests, shown.prompt_tokens, shown.rate) == (None, None, ())
    assert shown.concurrency == 8
    assert shown.mean_prompt_tokens == 100


def test_a_long_run_is_scaled_up_and_says_so() -> None:
    shown = preview(document(arrivals={"process": "constant", "rate": 1000}, duration_s=100))
    assert shown.requests == 100_000
    assert not shown.exact
    assert shown.prompt_tokens == 10_000_000


def test_a_schedule_with_no_request_is_no_fault() -> None:
    shown = preview(document(arrivals={"process": "poisson", "rate": 0.001}, duration_s=1))
    assert (shown.requests, shown.prompt_tokens, shown.prompt_lengths) == (0, 0, ())


def test_it_is_plain_json() -> None:
    workload = {"kind": "fixed", "tenants": {"a": 1, "b": 3}}
    shown = json.loads(json.dumps(preview(document(workload=workload)).to_json()))
    assert shown["tenants"]["b"] == pytest.approx(0.75, abs=0.05)
    assert shown["prompt_lengths"] == [{"low": 64, "high": 64, "count": shown["requests"]}]

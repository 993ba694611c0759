"""A simulation that is watched: told as a load test is, stopped, or readable when killed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from documents.problem import DocumentError
from loadtest import recover
from loadtest.outline import Outline
from loadtest.recorder import read_windows
from loadtest.reports.summary_json import document
from loadtest.scenario import Scenario
from loadtest.simulate import Options, simulate
from loadtest.simulation import progress
from measurement.outcome import Outcome
from tests.loadtest.simulation.policies import FIXED, PROFILE


class Watcher:
    """Hears everything; ``kill_at`` is the piece of news at which it breaks off."""

    def __init__(self, kill_at: float = math.inf) -> None:
        self.heard: list[Any] = []
        self.begun: list[Any] = []
        self._kill_at = kill_at

    def started(self, scenario: Scenario, facts: Any) -> None:
        self.begun.append((scenario, facts))

    def news(self, news: Any) -> None:
        self.heard.append(news)
        if len(self.heard) >= self._kill_at:
            raise KeyboardInterrupt

    def concluded(self, conclusion: Any) -> None:
        self.heard.append(conclusion)


@pytest.fixture(autouse=True)
def _at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.0)


def scenario(**more: Any) -> Scenario:
    given: dict[str, Any] = {
        "endpoint": {"base_url": "http://model.invalid", "model": "m", "kind": "simulated"},
        "workload": FIXED,
        "arrivals": {"process": "poisson", "rate": 3},
        "duration_s": 30,
        "prompt_salt": "s",
    }
    return Scenario.parse(given | more)


def test_news_told_on_the_way_end_with_the_same_windows_as_a_run_that_nobody_watched(
    tmp_path: Path,
) -> None:
    watcher = Watcher()
    watched = simulate(scenario(), PROFILE, options=Options(observer=watcher))
    alone = simulate(scenario(), PROFILE, options=Options(out=tmp_path))
    *news, conclusion = watcher.heard
    assert len(news) > 3
    assert [one.at for one in news] == sorted(one.at for one in news)
    newest = {window.index: window for one in news for window in one.windows}
    measured = [(w.start, w.events, w.cohort) for _, w in sorted(newest.items())]
    windows = read_windows(tmp_path)
    assert measured == [(w.start, w.events, w.cohort) for w in windows]
    assert alone.seen.windows == watched.seen.windows == list(map(Outline.of, windows))
    assert conclusion is watched
    assert document(watched)["ttft_ms"] == document(alone)["ttft_ms"]


def test_each_window_has_the_engines_signals_idle_or_not(tmp_path: Path) -> None:
    sparse = scenario(
        arrivals={"process": "constant", "rate": 0.1},
        workload=FIXED | {"prompt_tokens": 16, "output_tokens": 300},
    )
    simulate(sparse, PROFILE, options=Options(out=tmp_path))
    told = [window.events for window in read_windows(tmp_path)]
    assert all(events.kv_use is not None for events in told)
    assert {events.running for events in told} == {0, 1}
    assert {bool(events.kv_use) for events in told if not events.running} == {False}
    held = [events.kv_use for events in told if events.running]
    assert held[1] > held[0], "its context grows from second to second"


def test_a_stop_leaves_a_cancelled_run_in_which_what_was_open_is_excluded(tmp_path: Path) -> None:
    watcher = Watcher()
    options = Options(out=tmp_path, observer=watcher, stop=lambda: len(watcher.heard) >= 3)
    conclusion = simulate(scenario(), PROFILE, options=options)
    assert conclusion.status == "cancelled"
    assert conclusion.seen.stopped_at < 30
    outcomes = conclusion.summary.whole.outcomes
    assert set(outcomes) <= {Outcome.TRUNCATED, Outcome.CANCELLED}
    assert conclusion.summary.whole.offered == conclusion.seen.launched
    assert document(conclusion)["exit_code"] == 130


def test_a_simulation_that_was_killed_leaves_a_report_that_says_that_it_is_a_models(
    tmp_path: Path,
) -> None:
    options = Options(out=tmp_path, observer=Watcher(kill_at=4))
    with pytest.raises(KeyboardInterrupt):
        simulate(scenario(), PROFILE, name="here", options=options)
    assert read_windows(tmp_path)
    summary = recover.recover(tmp_path)
    assert summary["status"] == "lost"
    assert summary["offered"] > 0
    assert summary["model"]["profile"] == "here"
    assert summary["client"] is None
    assert summary["notes"][0].startswith("A model, not a measurement")


def test_what_only_a_client_could_tell_is_absent() -> None:
    summary = document(simulate(scenario(), PROFILE))
    assert summary["client"] is None
    for part in (summary, summary["cut"]["whole"], summary["validity"]["numbers"]):
        assert {"send_lag_ms", "client_lag_ms", "on_time_share", "loop_lag_ms"}.isdisjoint(part)
    assert summary["hold_ms"]["n"] == summary["sent"]


def test_a_closed_loop_that_comes_to_too_many_requests_is_refused() -> None:
    loop = scenario(arrivals={"process": "closed", "concurrency": 64})
    with pytest.raises(DocumentError, match="more than 100 requests"):
        simulate(loop, PROFILE, options=Options(most_requests=100))

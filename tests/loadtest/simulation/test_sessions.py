"""Agents are played turn by turn: contexts grow, the cache finds them again, each seed the same."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documents.parse import build
from documents.problem import DocumentError
from loadtest.facts import make_schedule
from loadtest.scenario import Scenario
from loadtest.schedule import WHOLE
from loadtest.simulation.sessions import SessionFeed
from loadtest.workloads.base import workloads
from measurement.outcome import Outcome
from tests.loadtest.simulation.policies import play

SHORT = {"kind": "agents", "turns_mean": 4, "turns_sigma": 0, "tool_s": 1.0}
LOOP = {"workload": SHORT, "arrivals": {"process": "closed", "concurrency": 6}, "duration_s": 60}


def test_a_turns_context_is_all_that_its_agent_has_heard_and_said() -> None:
    agents = build(workloads.get("agents"), {"first_tokens": 500})
    turns = agents.session(np.random.default_rng(3))
    assert (turns[0].prompt_tokens, turns[0].wait_s) == (500, 0.0)
    for before, after in pairwise(turns):
        assert after.prompt_tokens > before.prompt_tokens + before.output_tokens
        assert after.wait_s > 0


def test_slots_play_whole_agents_and_an_agent_never_asks_before_its_answer() -> None:
    given = {"endpoint": {"base_url": "http://model.invalid", "model": "m"}, **LOOP}
    scenario = Scenario.parse(given)
    schedule = make_schedule(scenario, salt="", part=WHOLE, sessions=True)
    # LOOP names a closed loop of agents; a scenario's types are wider.
    feed = SessionFeed(schedule, scenario.arrivals, scenario.workload)  # type: ignore[arg-type]
    turns: dict[Any, list[Any]] = defaultdict(list)
    answered: dict[Any, float] = {}
    for _ in range(60):
        job = feed.take()
        [(session, tokens)] = feed.content(job.index).runs
        assert tokens == job.shape.prompt_tokens + job.shape.output_tokens
        assert job.intended_at >= answered.get(session, 0.0)
        turns[session].append(job.shape.prompt_tokens)
        answered[session] = job.intended_at + 0.5
        feed.ended(job.index, answered[session], success=True)
    assert len(turns) > 6, "a slot goes on with the next agent"
    assert all(len(each) <= 4 and each == sorted(each) for each in turns.values())


def test_the_cache_finds_nearly_all_of_a_growing_context(tmp_path: Path) -> None:
    run = play(tmp_path, None, **LOOP)
    model = run.conclusion.seen.model
    assert model["prompt_tokens_found"] / model["prompt_tokens_looked_up"] > 0.5
    again = play(tmp_path, None, **LOOP)
    assert [s.done_at for s in run.samples] == [s.done_at for s in again.samples]


def test_a_shared_start_is_found_by_every_agent(tmp_path: Path) -> None:
    once = LOOP | {"workload": SHORT | {"turns_mean": 1}}
    apart = play(tmp_path, None, **once).conclusion.seen.model
    shared = once | {"workload": SHORT | {"turns_mean": 1, "shared_tokens": 1_600}}
    together = play(tmp_path, None, **shared).conclusion.seen.model
    assert apart["prompt_tokens_found"] == 0
    assert together["prompt_tokens_found"] / together["prompt_tokens_looked_up"] > 0.6


def test_an_agent_that_outgrows_the_model_gives_up_and_another_comes(tmp_path: Path) -> None:
    small = {"blocks": 800, "max_model_len": 3_000}
    run = play(tmp_path, None, engine=small, **LOOP)
    outcomes = {sample.outcome for sample in run.samples}
    assert Outcome.HTTP_4XX in outcomes
    assert Outcome.TRUNCATED in outcomes


@pytest.mark.parametrize("process", ["poisson", "constant"])
def test_an_open_loop_of_agents_is_refused(tmp_path: Path, process: str) -> None:
    with pytest.raises(DocumentError, match="must be closed"):
        play(tmp_path, None, **LOOP | {"arrivals": {"process": process, "rate": 1}})


def test_a_load_test_of_agents_is_refused_where_its_schedule_is_made() -> None:
    given = {"endpoint": {"base_url": "http://127.0.0.1:1", "model": "m"}, **LOOP}
    with pytest.raises(DocumentError, match="only the engine model plays them"):
        make_schedule(Scenario.parse(given), salt="", part=WHOLE)

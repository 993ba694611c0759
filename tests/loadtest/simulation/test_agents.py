"""Laws that admit agents act in a simulation of agents, and say so where there are none."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from measurement.outcome import Outcome
from tests.loadtest.simulation.policies import Played, play

LOOP: dict[str, Any] = {
    "workload": {"kind": "agents", "turns_mean": 8, "turns_sigma": 1, "tool_s": 2.0},
    "arrivals": {"process": "closed", "concurrency": 30},
    "duration_s": 60,
    "drain_s": 30,
}
SMALL = {"blocks": 5_000}
"""80,000 tokens: a dozen contexts, and room to grow."""


def hits(run: Played) -> float:
    model = run.conclusion.seen.model
    return float(model["prompt_tokens_found"] / model["prompt_tokens_looked_up"])


def whole(run: Played) -> None:
    assert [each.index for each in run.samples] == list(range(run.conclusion.seen.launched))


def concurrency(name: str, **parameters: Any) -> dict[str, Any]:
    return {"concurrency": {"law": name, **parameters}}


def test_reserving_for_agents_keeps_their_contexts_where_all_at_once_lose_them(
    tmp_path: Path,
) -> None:
    free = play(tmp_path, None, engine=SMALL, **LOOP)
    held = play(tmp_path, concurrency("kv_reserve_agents"), engine=SMALL, **LOOP)
    for run in (free, held):
        whole(run)
    assert hits(free) < 0.4
    assert hits(held) > 0.6
    evicted = [run.conclusion.seen.model["evicted_tokens"] for run in (free, held)]
    assert evicted[1] < evicted[0] / 2
    reasons = {each["reason"] for each in held.lines("concurrency")}
    assert reasons >= {"room_for_more", "kv_ceiling"}
    assert not any("admits agents" in note for note in held.conclusion.notes)


@pytest.mark.parametrize("law", ["concur", "concur_reference"])
def test_the_papers_laws_move_by_what_the_cache_says(law: str, tmp_path: Path) -> None:
    run = play(tmp_path, concurrency(law, initial=20), engine=SMALL, **LOOP)
    whole(run)
    lines = run.lines("concurrency")
    assert len(lines) > 5
    assert all(0 <= each["inputs"]["kv_used"] <= 1 for each in lines)
    assert any(each["before"] != each["after"] for each in lines)


def test_no_more_agents_are_let_in_than_the_limit_and_who_is_in_goes_on(tmp_path: Path) -> None:
    """Each turn of an agent that is in goes at once: only first turns wait."""
    laws = concurrency("kv_reserve_agents", max=3, initial=3)
    run = play(tmp_path, laws, **LOOP | {"arrivals": {"process": "closed", "concurrency": 6}})
    whole(run)
    first = [each for each in run.samples if each.prompt_tokens == 2_000 or each.sent_at is None]
    later = [each for each in run.samples if each.prompt_tokens and each.prompt_tokens > 2_000]
    assert max(each.hold or 0.0 for each in first) > 10
    assert max(each.hold or 0.0 for each in later) == 0.0
    assert max(window.events.in_flight_max or 0 for window in run.windows) <= 3


def test_who_pauses_goes_on_later_and_loses_nothing(tmp_path: Path) -> None:
    """A lower limit meets agents in the middle: the newest wait as their tool comes back."""
    laws = concurrency("concur", initial=24, min=2, u_low=0.0, u_high=0.05, h_low=1.0)
    run = play(tmp_path, laws, engine=SMALL, **LOOP)
    whole(run)
    assert {each.outcome for each in run.samples} <= {Outcome.TRUNCATED, Outcome.UNFINISHED}
    paused = [
        each for each in run.samples if (each.hold or 0.0) > 1 and (each.prompt_tokens or 0) > 2_000
    ]
    assert paused
    assert {each["reason"] for each in run.lines("concurrency")} >= {"hit_rate_low"}


def test_agents_pass_the_waiting_room_as_well(tmp_path: Path) -> None:
    """And the time for which an agent was held counts for nothing in the room."""
    laws = concurrency("kv_reserve_agents")
    alone = play(tmp_path, laws, engine=SMALL, **LOOP)
    both = play(tmp_path, laws | {"admission": {"law": "always"}}, engine=SMALL, **LOOP)
    assert [each.done_at for each in both.samples] == [each.done_at for each in alone.samples]
    assert both.lines("admission")


def test_a_client_that_leaves_ends_its_agent_and_another_comes(tmp_path: Path) -> None:
    load = LOOP | {"cancellations": {"share": 0.2, "after_s": 6.0}}
    laws = concurrency("kv_reserve_agents", max=4, initial=4)
    one, two = (play(tmp_path, laws, **load) for _ in range(2))
    whole(one)
    ended = defaultdict(int)
    for sample in one.samples:
        ended[sample.outcome] += 1
    assert ended[Outcome.CANCELLED] > 5
    assert ended[Outcome.TRUNCATED] > 30
    assert (one.samples, one.decisions) == (two.samples, two.decisions)


@pytest.mark.parametrize(
    ("laws", "said"),
    [
        (concurrency("kv_reserve_agents"), "stood at its first limit, 8 requests"),
        (concurrency("concur"), "stood at its first limit, 32 requests"),
        ({"ordering": {"law": "progress_per_kv"}}, "went in order of arrival"),
    ],
)
def test_without_agents_a_law_for_them_is_named_in_the_notes(
    laws: dict[str, Any], said: str, tmp_path: Path
) -> None:
    run = play(tmp_path, laws, duration_s=2)
    assert any(said in note for note in run.conclusion.notes)
    out = next(tmp_path.iterdir())
    assert said in (out / "summary.json").read_text("utf-8")

"""Laws that decide inside the engine decide in a simulation: batching and preemption."""

from __future__ import annotations

from pathlib import Path

from tests.loadtest.simulation.policies import FIXED, play

LONG = FIXED | {"prompt_tokens": 6000, "output_tokens": 100}


def test_a_batching_law_bounds_the_time_between_tokens(tmp_path: Path) -> None:
    load = {"workload": LONG, "arrivals": {"process": "poisson", "rate": 1.5}, "drain_s": 120}
    by_itself = play(tmp_path, None, **load)
    law = {"law": "tpot_budget", "tpot_ms": 60}
    bounded = play(tmp_path, {"batching": law}, **load)
    longest = [
        sorted(gap for each in run.samples for gap in each.gaps)[-20]
        for run in (by_itself, bounded)
    ]
    assert longest[0] > 0.15
    assert longest[1] < 0.08
    (point,) = bounded.conclusion.seen.policy["enforcement"]
    assert (point["point"], point["mode"]) == ("batching", "enforced")
    assert {each["reason"] for each in bounded.lines("batching")} >= {"tpot_budget", "steady"}


def test_a_static_batch_ends_before_the_next_begins(tmp_path: Path) -> None:
    run = play(tmp_path, {"batching": {"law": "static", "size": 4, "gather_ms": 50}})
    first, alone = run.samples[0], play(tmp_path, None).samples[0]
    assert 0.05 <= first.first_token_at - alone.first_token_at < 0.1
    spans = sorted((each.first_token_at, each.done_at) for each in run.samples)
    batches: dict[float, int] = {}
    for began, _ in spans:
        batches[began] = batches.get(began, 0) + 1
    assert max(batches.values()) == 4
    at = sorted(batches)
    ends = [max(done for began, done in spans if began == start) for start in at]
    assert all(end <= begin for end, begin in zip(ends, at[1:], strict=False))


def test_graphs_of_a_law_cost_what_they_pad_to(tmp_path: Path) -> None:
    load = {"arrivals": {"process": "closed", "concurrency": 33}, "duration_s": 5}
    loose = {"law": "graph_buckets", "spacing": "doubling", "pad_max": 1.0}
    tight = {"law": "graph_buckets", "spacing": "doubling", "pad_max": 0.0}
    padded, bare = (play(tmp_path, {"batching": law}, **load) for law in (loose, tight))
    assert padded.samples[0].tpot > bare.samples[0].tpot


def test_a_preemption_law_says_who_gives_way(tmp_path: Path) -> None:
    load = {
        "workload": {
            "kind": "synthetic", "prompt_tokens_mean": 500, "output_tokens_mean": 400,
            "tenants": {"urgent": 1, "patient": 1},
        },
        "tenants": {"urgent": {"tier": "vip"}, "patient": {"tier": "batch"}},
        "arrivals": {"process": "constant", "rate": 3},
        "drain_s": 120,
    }  # fmt: skip
    small = {"blocks": 800, "max_model_len": 2000}
    longest = {}
    for law in ("lifo", "lowest_priority"):
        run = play(tmp_path, {"preemption": {"law": law}}, engine=small, **load)
        model, lines = run.conclusion.seen.model, run.lines("preemption")
        assert len(lines) == model["preemptions"] > 10
        assert all(each["after"] < each["before"] for each in lines)
        assert all(each.outcome.success for each in run.samples)
        longest[law] = max(max(each.gaps) for each in run.samples if each.tenant == "urgent")
    assert longest["lowest_priority"] < 0.5 < longest["lifo"]


def test_the_trace_of_a_law_that_is_asked_at_each_step_is_thinned(tmp_path: Path) -> None:
    run = play(tmp_path, {"batching": {"law": "continuous"}})
    seen = run.conclusion.seen.policy
    assert seen["decisions"] == len(run.decisions) + seen["trace_left_out"] > len(run.decisions)
    again = play(tmp_path, {"batching": {"law": "continuous"}})
    assert (again.samples, again.decisions) == (run.samples, run.decisions)

"""The queueing source's JSON: what contradicts itself is named, the rest becomes documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from documents.problem import DocumentError
from loadtest.reproduce.configuration.contradictions import Kind, remarks
from loadtest.reproduce.configuration.conversion import convert
from loadtest.reproduce.configuration.playing import play
from loadtest.reproduce.configuration.sections import read
from loadtest.reproduce.plan import Plan
from loadtest.scenario import Scenario
from simulator import profile

CONTRADICTORY = Path(__file__).parent / "fixtures" / "contradictory.json"


def given() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(CONTRADICTORY.read_text("utf-8"))
    return document


def said(document: dict[str, Any]) -> list[str]:
    return [str(remark) for remark in remarks(read(json.dumps(document)))]


def sound() -> dict[str, Any]:
    return {
        "scheduler": {"policy": "fcfs", "max_num_seqs": 64, "max_num_batched_tokens": 2048},
        "slo": {"ttft_ms": 800, "tpot_ms": 100, "attainment": 0.99},
        "loadgen": {"qps": 0.5, "output_len": "lognormal(4.0, 0.5)", "prompt_len": [5.0, 0.5]},
    }


def test_every_contradiction_is_named_with_its_paths_and_values() -> None:
    found = [line for line in said(given()) if line.startswith("contradiction: ")]
    for words in (
        "slo.p95_latency_ms 2000, slo.tpot_ms 100, loadgen.output_len.mu 6",
        "loadgen.qps 20, scheduler.max_num_seqs 32, slo.tpot_ms 100",
        "slo.p95_latency_ms 2000, slo.attainment 0.99",
        "scheduler.batch_size_cap 16, scheduler.max_num_seqs 32",
        "admission.kv_reserve_ratio 0.85, admission.oversubscribe 1.3",
    ):
        assert sum(line.startswith(f"contradiction: {words}") for line in found) == 1, words
    assert len(found) == 5
    assert any("966 at once" in line for line in found), "Little's law"
    idle = [line for line in said(given()) if line.startswith("has no effect: ")]
    assert [line.split(":")[1] for line in idle] == [
        " scheduler.swap_space_gb 16, scheduler.preemption_mode recompute"
    ]


def test_a_sound_configuration_has_no_remarks() -> None:
    assert said(sound()) == []


def test_a_bound_on_a_tokens_time_asks_for_no_more_places_than_the_engine_needs() -> None:
    """At 100 ms a token 3 a second would not fit; at 17 ms, which it takes, they do."""
    document = sound()
    document["loadgen"] = {**document["loadgen"], "qps": 3, "output_len": "lognormal(6.0, 0.5)"}
    assert [line for line in said(document) if "at once" in line] == []


@pytest.mark.parametrize(
    ("section", "change", "words"),
    [
        ("scheduler", {"max_num_batched_tokens": 16}, "would starve"),
        ("slo", {"p95_ms": 700}, "no sooner than the whole answer"),
        ("scheduler", {"immunity": 0.8}, "is not known while it runs"),
        ("scheduler", {"gpu_memory_utilization": 0.9}, "not read: scheduler.gpu_memory"),
    ],
)
def test_one_change_to_a_sound_one_is_told(
    section: str, change: dict[str, Any], words: str
) -> None:
    changed = sound()
    changed[section] |= change
    assert any(words in line for line in said(changed))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kv_reserve_ratio": 0.85}, ("missing: admission.oversubscribe: converted with the law's "
         "own 1.3, so 1.1 of the cache")),
        ({"oversubscribe": 1.1}, ("missing: admission.kv_reserve_ratio: converted with the law's "
         "own 0.85, so 0.935 of the cache")),
    ],
)  # fmt: skip
def test_half_of_a_promise_names_the_default_of_the_other(
    given: dict[str, float], words: str
) -> None:
    assert any(words in line for line in said({**sound(), "admission": given}))
    assert not any("law's own" in line for line in said({**sound(), "admission": {}}))


def test_the_documents_say_what_the_file_said_and_parse_again() -> None:
    converted = convert(read(CONTRADICTORY.read_text("utf-8")))
    policy, slo, load = converted.documents()
    assert policy["spec"]["admission"]["kv_usable"] == 0.85
    assert policy["spec"]["ordering"]["law"] == "slack_density"
    assert policy["spec"]["batching"]["max_sequences"] == 16
    assert policy["spec"]["preemption"]["mode"] == "recompute"
    assert slo["spec"]["target"] == 0.99
    assert slo["spec"]["objectives"][-1] == {"metric": "e2e_ms", "max": 2000.0, "target": 0.95}
    assert load["arrivals"] == {"process": "poisson", "rate": 20.0}
    assert load["workload"]["output_tokens_mean"] == 483.0
    assert converted.engine == {"max_seqs": 32, "token_budget": 4096}
    endpoint = {"base_url": "http://127.0.0.1:8000", "model": "simulated"}
    again = Scenario.parse({"endpoint": endpoint, "policy": policy, "slo": slo, **load})
    assert (again.policy, again.slo) == (converted.policy, converted.slo)


@pytest.mark.parametrize(
    ("section", "change", "path"),
    [
        ("slo", {"ttft_ms": "fast"}, "slo.ttft_ms"),
        ("slo", {"attainment_target": 0.9}, "slo.attainment_target"),
        ("loadgen", {"qps": -1}, "loadgen.qps"),
        ("loadgen", {"output_len": {"dist": "zipf"}}, "loadgen.output_len"),
        ("scheduler", {"policy": "clever"}, "scheduler.policy"),
        ("admission", 3, "admission"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_own_path(
    section: str, change: Any, path: str
) -> None:
    changed = sound()
    changed[section] = changed[section] | change if isinstance(change, dict) else change
    with pytest.raises(DocumentError) as refused:
        read(json.dumps(changed))
    assert path in [problem.path for problem in refused.value.problems]


@pytest.mark.parametrize("text", ["[]", "{", '{"loadgen": {"qps": 1, "qps": 2}}', "{}"])
def test_what_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        read(text)


def test_played_as_it_stands_it_keeps_nothing_that_it_asks_for() -> None:
    document = given()
    document["loadgen"] |= {"duration_s": 20}
    configuration = read(json.dumps(document))
    result = play(configuration, convert(configuration), profile.load(profile.DEFAULT), Plan((1,)))
    assert result.holds
    assert "10.1 times that" in result.findings[0].sentence
    assert "not kept either way" in result.findings[1].sentence


def test_kinds_are_told_worst_first() -> None:
    kinds = [remark.kind for remark in remarks(read(CONTRADICTORY.read_text("utf-8")))]
    assert kinds == sorted(kinds, key=list(Kind).index)


def test_lengths_that_are_missing_or_wrong_are_named_once_as_the_author_writes_them() -> None:
    without, wrong = sound(), sound()
    del without["loadgen"]["output_len"]
    wrong["loadgen"]["output_len"] = "long"
    for document, word in ((without, "is required"), (wrong, "must be")):
        with pytest.raises(DocumentError) as error:
            read(json.dumps(document))
        (problem,) = error.value.problems
        assert problem.path == "loadgen.output_len"
        assert word in problem.message
        assert '"mu": 6.0' in problem.message


@pytest.mark.parametrize("given", ["lognormal(1.2.3, 4)", "lognormal(..., .)", "lognormal(²,1)"])
def test_a_length_that_is_no_number_is_named_and_not_a_crash(given: str) -> None:
    text = json.dumps({"loadgen": {"qps": 1, "output_len": given}})
    with pytest.raises(DocumentError, match="output_len: must be a lognormal"):
        read(text)


def test_a_foreign_file_moves_no_cursor() -> None:
    said = [str(one) for one in remarks(read(json.dumps(sound() | {"x\x1b[2J": "\x1b]0;t\x07"})))]
    assert any("not read" in line for line in said)
    assert not any("\x1b" in line for line in said)

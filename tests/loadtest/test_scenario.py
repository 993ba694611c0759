"""Scenarios: frozen, with every fault named by path, one hash for one meaning, no credential."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest

from documents.problem import DocumentError
from loadtest import builtin
from loadtest.scenario import Scenario

POLICY = {
    "apiVersion": "headway/v1",
    "kind": "Policy",
    "metadata": {"name": "p"},
    "spec": {"concurrency": {"law": "fixed", "limit": 64}},
}


def document(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "endpoint": {"name": "e", "base_url": "http://h:8000/v1", "model": "m", "kind": "vllm"},
        "policy": copy.deepcopy(POLICY),
        "workload": {"kind": "synthetic", "prompt_tokens_mean": 100},
        "arrivals": {"process": "poisson", "rate": 20},
        "duration_s": 60,
        "slo": dict(builtin.SLOS["chat-interactive"]),
        "seed": 1,
        "warm_up_s": 0,
        "drain_s": 30,
        "timeouts": {"first_token_s": 10},
        "tenants": {},
    }
    given.update(changes)
    return {key: value for key, value in given.items() if value is not ...}


def paths(**changes: Any) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        Scenario.parse(document(**changes))
    return [problem.path for problem in caught.value.problems]


def test_a_scenario_survives_its_own_document() -> None:
    scenario = Scenario.parse(document())
    again = Scenario.parse(json.loads(json.dumps(scenario.to_document())))
    assert again == scenario
    assert again.sha256 == scenario.sha256


def test_defaults_that_are_written_out_do_not_change_the_hash() -> None:
    terse = document(timeouts=..., tenants=..., seed=..., warm_up_s=..., drain_s=...)
    full = Scenario.parse(terse).to_document()
    assert Scenario.parse(terse).sha256 == Scenario.parse(full).sha256


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"duration_s": 61},
        {"arrivals": {"process": "poisson", "rate": 21}},
        {"workload": {"kind": "fixed"}},
        {"slo": None},
        {"policy": None},
    ],
)
def test_any_change_of_meaning_changes_the_hash(change: dict[str, Any]) -> None:
    assert Scenario.parse(document(**change)).sha256 != Scenario.parse(document()).sha256


def test_a_scenario_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Scenario.parse(document()).seed = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"endpoint": {"base_url": "h", "model": "m"}}, "endpoint.base_url"),
        ({"endpoint": {"base_url": "http://h"}}, "endpoint.model"),
        (
            {"endpoint": {"base_url": "http://h", "model": "m", "api_key": "sk"}},
            "endpoint.api_key",
        ),
        ({"endpoint": {"base_url": "http://h", "model": "m", "kind": "vlm"}}, "endpoint.kind"),
        ({"workload": {"kind": "synthetc"}}, "workload.kind"),
        ({"workload": {"kind": "fixed", "prompt_tokens": 0}}, "workload.prompt_tokens"),
        ({"workload": None}, "workload"),
        ({"arrivals": {"process": "poisson"}}, "arrivals.rate"),
        ({"arrivals": {"rate": 20}}, "arrivals.process"),
        ({"duration_s": 0}, "duration_s"),
        ({"duration_s": ...}, "duration_s"),
        ({"duration_s": "60s"}, "duration_s"),
        ({"seed": -1}, "seed"),
        ({"warm_up_s": 60}, "warm_up_s"),
        ({"timeouts": {"idle": 3}}, "timeouts.idle"),
        ({"tenants": {"a": {"tier": "gold"}}}, "tenants.a.tier"),
        ({"tenants": []}, "tenants"),
        ({"api_key": "sk"}, "api_key"),
        (
            {"policy": {**POLICY, "spec": {"concurrency": {"law": "fxed"}}}},
            "policy.spec.concurrency.law",
        ),
        ({"slo": {}}, "slo."),
        ({"arrivals": {"process": "poisson", "rate": 20000}, "duration_s": 86_400}, "duration_s"),
    ],
)
def test_a_fault_is_named_by_its_path(change: dict[str, Any], path: str) -> None:
    found = paths(**change)
    assert any(each.startswith(path) for each in found), found


def test_every_fault_is_told_at_once() -> None:
    found = paths(
        seed=-1,
        duration_s=0,
        endpoint={"base_url": "http://h"},
        arrivals={"process": "poison"},
        policy={},
    )
    assert {"seed", "duration_s", "endpoint.model", "arrivals.process"} <= set(found)


def test_a_tenant_of_the_workload_must_be_among_the_scenarios_tenants_where_it_names_any() -> None:
    workload = {"kind": "fixed", "tenants": {"a": 1, "b": 1}}
    assert paths(workload=workload, tenants={"a": {}}) == ["workload.tenants.b"]
    Scenario.parse(document(workload=workload))


@pytest.mark.parametrize("given", [None, [], "x", 3])
def test_what_is_no_mapping_is_refused(given: object) -> None:
    with pytest.raises(DocumentError, match="must be a mapping"):
        Scenario.parse(given)


@pytest.mark.parametrize("name", sorted(builtin.WORKLOADS))
def test_built_in_workloads_are_workloads(name: str) -> None:
    loop = {"process": "closed", "concurrency": 4}
    Scenario.parse(document(workload=dict(builtin.WORKLOADS[name]), arrivals=loop))


@pytest.mark.parametrize("name", sorted(builtin.SLOS))
def test_built_in_slos_are_slos(name: str) -> None:
    slo = Scenario.parse(document(slo=dict(builtin.SLOS[name]))).slo
    assert slo is not None
    assert slo.metadata.name == name

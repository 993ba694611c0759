"""Gates over the API: kept like any object, run once under a key, waited for, told as JUnit."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.catalogue.models import Endpoint
from controlplane.gates.models import Gate, GateRun
from controlplane.runs.models import Run, Status
from controlplane.teams.rights import Actor
from tests.controlplane.gates.conftest import DOCUMENT, document

pytestmark = pytest.mark.django_db
Call = Callable[..., Any]


@pytest.fixture
def call(actor: Actor, api_as: Callable[..., Call]) -> Call:
    return api_as(actor)


def test_a_gate_is_made_read_changed_and_removed(call: Call, launch: Any) -> None:
    made = call("post", "/gates", {"document": DOCUMENT})
    assert made.status_code == 201
    assert made.json()["latest"]["document"]["spec"]["thresholds"] == [
        "ttft_ms: p(95)<800",
        "errors<=0.05",
    ]
    read = call("get", "/gates/chat-gate")
    assert read.json()["last_run"] is None
    body = {"document": document(seed=8)}
    assert call("put", "/gates/chat-gate", body).status_code == 428
    changed = call("put", "/gates/chat-gate", body, If_Match=read["ETag"])
    assert changed.json()["latest"]["number"] == 2
    assert call("get", "/gates/chat-gate/versions/1").json()["document"]["spec"]["seed"] == 7
    gone = call("delete", "/gates/chat-gate", If_Match=changed["ETag"])
    assert gone.status_code == 204
    assert call("get", "/gates").json()["results"] == []


def test_faults_are_pointed_at_in_the_body(call: Call, launch: Any) -> None:
    body = {"document": document(thresholds=["tfft: p(95)<1"], endpoint=7)}
    answer = call("post", "/gates", body)
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    pointers = {fault["pointer"] for fault in answer.json()["errors"]}
    assert {"#/document/spec/thresholds/0", "#/document/spec/endpoint"} <= pointers


def test_a_run_is_accepted_with_the_way_to_its_verdict(call: Call, gate: Gate) -> None:
    answer = call("post", "/gates/chat-gate/runs", {}, Idempotency_Key="one")
    run = Run.objects.get()
    assert answer.status_code == 202
    assert answer["Location"] == f"/api/v1/gates/chat-gate/runs/{run.pk}"
    said = answer.json()
    assert said["schema"] == "headway/gate-run/v1"
    assert (said["status"], said["outcome"], said["exit_code"]) == ("queued", None, None)
    assert (said["policy"], said["slo"], said["version"]) == ("steady@1", "chat@1", 1)
    assert said["links"]["self"] == answer["Location"]
    assert said["links"]["cancel"] == f"/api/v1/runs/{run.pk}/cancel"


def test_a_repeated_call_starts_one_run_and_another_body_is_refused(call: Call, gate: Gate) -> None:
    path = "/gates/chat-gate/runs"
    first = call("post", path, {}, Idempotency_Key="one")
    again = call("post", path, {}, Idempotency_Key="one")
    assert (again.status_code, again.json()) == (202, first.json())
    assert again["Idempotency-Replayed"] == "true"
    other = call("post", path, {"policy": "steady@1"}, Idempotency_Key="one")
    assert other.status_code == 422
    assert call("post", path, {}).status_code == 422
    assert Run.objects.count() == 1


def test_while_the_first_call_runs_the_second_is_told_to_wait(
    call: Call, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    from controlplane.gates import services

    path, seen, start = "/gates/chat-gate/runs", [], services.start

    def slow(**asked: Any) -> GateRun:
        seen.append(call("post", path, {}, Idempotency_Key="one").status_code)
        return start(**asked)

    monkeypatch.setattr(services, "start", slow)
    assert call("post", path, {}, Idempotency_Key="one").status_code == 202
    assert seen == [409]


@pytest.mark.parametrize(
    ("body", "pointer", "said"),
    [
        ({"endpoint": "sim"}, "#/endpoint", "add endpoint to its overrides"),
        ({"policy": "away"}, "#/policy", "no such policy"),
        ({"seed": 1}, "#/seed", "unknown field"),
    ],
)
def test_what_a_caller_may_not_replace_is_refused(
    call: Call, gate: Gate, body: dict[str, Any], pointer: str, said: str
) -> None:
    answer = call("post", "/gates/chat-gate/runs", body, Idempotency_Key="one")
    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert fault["pointer"] == pointer
    assert said in fault["detail"]


def test_a_target_that_may_not_be_called_has_its_own_type(call: Call, gate: Gate) -> None:
    Endpoint.objects.update(base_url="http://10.0.0.1:8000")
    answer = call("post", "/gates/chat-gate/runs", {}, Idempotency_Key="one")
    assert (answer.status_code, answer.json()["type"]) == (
        422,
        "urn:headway:problem:target-not-allowed",
    )


def test_a_token_that_may_only_read_can_t_run_it(
    gate: Gate, actor: Actor, api_as: Callable[..., Call]
) -> None:
    reader = api_as(actor, "read")
    answer = reader("post", "/gates/chat-gate/runs", {}, Idempotency_Key="one")
    assert answer.status_code == 403


def test_the_verdict_comes_with_its_objectives_and_thresholds(
    call: Call, ended: Callable[..., GateRun]
) -> None:
    gate_run = ended(1_200, slow=300)
    said = call("get", f"/gates/chat-gate/runs/{gate_run.pk}?wait=30").json()
    assert (said["outcome"], said["exit_code"]) == ("fail", 10)
    assert [row["metric"] for row in said["objectives"]] == ["joint", "ttft_ms", "tpot_ms", "error"]
    assert [row["outcome"] for row in said["thresholds"]] == ["fail", "pass"]
    assert said["so_far"] is None
    [listed] = call("get", "/gates/chat-gate/runs").json()["results"]
    assert listed == said
    assert call("get", "/gates/chat-gate").json()["last_run"]["outcome"] == "fail"


def test_a_live_run_tells_what_it_has_come_to_so_far(call: Call, gate_run: GateRun) -> None:
    live = {"verdict": {"outcome": "pass"}, "totals": {"offered": 3}}
    Run.objects.filter(pk=gate_run.pk).update(live=live)
    said = call("get", f"/gates/chat-gate/runs/{gate_run.pk}").json()
    assert said["so_far"] == live
    assert call("get", f"/gates/chat-gate/runs/{gate_run.pk}?wait=99").status_code == 422


def test_junit_comes_when_it_has_ended_and_names_what_failed(
    call: Call, ended: Callable[..., GateRun], gate_run: GateRun
) -> None:
    path = f"/gates/chat-gate/runs/{gate_run.pk}/junit"
    assert call("get", path).status_code == 404
    ended(1_200, slow=300)
    answer = call("get", path)
    assert answer["Content-Type"] == "application/xml; charset=utf-8"
    messages = [one.attrib["message"] for one in ET.fromstring(answer.content).iter("failure")]  # noqa: S314
    assert any("threshold: ttft_ms: p(95)<800" in message for message in messages)
    assert any("objective: TTFT ≤ 800 ms" in message for message in messages)


def test_another_gates_run_is_not_this_ones(call: Call, gate_run: GateRun, actor: Actor) -> None:
    other = document()
    other["metadata"]["name"] = "other"
    assert call("post", "/gates", {"document": other}).status_code == 201
    assert call("get", f"/gates/other/runs/{gate_run.pk}").status_code == 404


def test_a_cancel_of_its_run_is_the_gates_end(call: Call, gate_run: GateRun) -> None:
    said = call("get", f"/gates/chat-gate/runs/{gate_run.pk}").json()
    cancelled = call("post", said["links"]["cancel"].removeprefix("/api/v1"))
    assert cancelled.status_code == 202
    assert Run.objects.get().status == Status.CANCELLED
    said = call("get", f"/gates/chat-gate/runs/{gate_run.pk}").json()
    assert (said["outcome"], said["exit_code"]) == ("cancelled", 130)


def test_a_stranger_gets_401(gate: Gate) -> None:
    assert Client().get("/api/v1/gates/chat-gate").status_code == 401

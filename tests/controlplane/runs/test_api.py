"""Runs over the API: started once, waited for, stopped, and judged as the page judges."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from controlplane.api import runs as api
from controlplane.runs import services, stored
from controlplane.runs.ledger import Ledger
from controlplane.runs.models import Run, Status
from controlplane.teams.rights import Actor
from tests.controlplane.runs.test_frames import SUMMARY, play

Call = Callable[..., Any]
BODY = {
    "endpoint": "sim",
    "policy": "steady",
    "workload": "short",
    "slo": "chat@1",
    "arrivals": {"process": "poisson", "rate": 20},
    "duration_s": 10,
    "seed": 3,
}


@pytest.fixture
def call(actor: Actor, launch: Any, api_as: Callable[..., Call]) -> Call:
    return api_as(actor)


@pytest.mark.django_db
def test_a_run_is_accepted_with_the_way_to_its_verdict(call: Call) -> None:
    answer = call("post", "/runs", BODY, Idempotency_Key="one")
    run = Run.objects.get()
    assert answer.status_code == 202
    assert answer["Location"] == f"/api/v1/runs/{run.pk}"
    said = answer.json()
    assert said["status"] == "queued"
    assert said["verdict"] is said["exit_code"] is said["summary"] is None
    assert (said["policy"]["slug"], said["policy"]["version"]) == ("steady", 1)
    assert said["links"]["self"] == answer["Location"]
    assert said["links"]["page"] == f"/runs/{run.pk}/"


@pytest.mark.django_db
def test_a_repeated_request_starts_one_run(call: Call) -> None:
    first = call("post", "/runs", BODY, Idempotency_Key="one")
    again = call("post", "/runs", BODY, Idempotency_Key="one")
    assert (again.status_code, again.json()) == (202, first.json())
    assert again["Idempotency-Replayed"] == "true"
    assert again["Location"] == first["Location"]
    assert Run.objects.count() == 1
    other = call("post", "/runs", BODY | {"seed": 4}, Idempotency_Key="one")
    assert other.status_code == 422
    assert Run.objects.count() == 1


@pytest.mark.django_db
def test_without_a_key_nothing_is_started(call: Call) -> None:
    assert call("post", "/runs", BODY).status_code == 422
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_every_fault_of_a_body_has_its_pointer(call: Call) -> None:
    bad = BODY | {"endpoint": "nowhere", "speed": 1}
    answer = call("post", "/runs", bad, Idempotency_Key="one")
    assert answer["Content-Type"] == "application/problem+json"
    assert [error["pointer"] for error in answer.json()["errors"]] == ["#/speed", "#/endpoint"]
    slow = BODY | {"duration_s": -1}
    answer = call("post", "/runs", slow, Idempotency_Key="one")
    assert [error["pointer"] for error in answer.json()["errors"]] == ["#/duration_s"]


@pytest.mark.django_db
def test_faults_of_the_scenario_are_told_with_those_of_its_references(call: Call) -> None:
    bad = {"endpoint": "nowhere", "policy": 7, "duration_s": -1, "arrivals": {"process": "poisson"}}
    answer = call("post", "/runs", BODY | bad | {"speed": 1}, Idempotency_Key="one")
    told = [error["pointer"] for error in answer.json()["errors"]]
    assert answer.status_code == 422
    assert sorted(told) == ["#/arrivals/rate", "#/duration_s", "#/endpoint", "#/policy", "#/speed"]


@pytest.mark.django_db
@pytest.mark.parametrize("body", [{}, {"arrivals": 3, "endpoint": None}])
def test_a_body_with_next_to_nothing_tells_each_thing_once(
    call: Call, body: dict[str, Any]
) -> None:
    answer = call("post", "/runs", body, Idempotency_Key="one")
    told = [error["pointer"] for error in answer.json()["errors"]]
    assert answer.status_code == 422
    assert {"#/endpoint", "#/policy", "#/workload", "#/arrivals", "#/duration_s"} == set(told)
    assert len(told) == len(set(told))


@pytest.mark.django_db
def test_a_token_that_may_only_read_starts_and_stops_nothing(
    actor: Actor,
    run: Run,
    api_as: Callable[..., Call],
) -> None:
    reader = api_as(actor, "read")
    assert reader("post", "/runs", BODY, Idempotency_Key="one").status_code == 403
    assert reader("post", f"/runs/{run.pk}/cancel").status_code == 403
    assert reader("get", f"/runs/{run.pk}").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "tail"), [("get", ""), ("get", "/windows"), ("post", "/cancel")]
)
def test_another_teams_run_is_not_there(
    run: Run,
    stranger: Actor,
    api_as: Callable[..., Call],
    method: str,
    tail: str,
) -> None:
    assert api_as(stranger)(method, f"/runs/{run.pk}{tail}").status_code == 404


@pytest.mark.django_db
def test_the_verdict_is_the_pages(call: Call, claimed: Run, tmp_path: Path) -> None:
    play(claimed, tmp_path)
    said = call("get", f"/runs/{claimed.pk}").json()
    shown = stored.backfill(claimed, since=0)["verdict"]
    assert (said["status"], said["verdict"], said["exit_code"]) == ("done", "pass", 0)
    assert (shown["outcome"], shown["because"]) == (said["verdict"], said["because"])
    assert said["judgement"] == SUMMARY["judgement"]
    assert said["summary"] == SUMMARY


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.CANCELLED, Status.LOST])
def test_a_stopped_run_has_no_verdict_and_keeps_what_it_had_measured(
    call: Call, claimed: Run, tmp_path: Path, status: Status
) -> None:
    play(claimed, tmp_path, end=False)
    Ledger(claimed, tmp_path, publish=lambda *_: None).finish(status, summary=SUMMARY)
    said = call("get", f"/runs/{claimed.pk}").json()
    (listed,) = call("get", "/runs").json()["results"]
    assert said["verdict"] is listed["verdict"] is None
    assert said["because"] == listed["because"] == ""
    assert said["judgement"] == SUMMARY["judgement"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "summary", "code"),
    [
        (Status.QUEUED, None, None),
        (Status.RUNNING, None, None),
        (Status.DONE, {"exit_code": 10}, 10),
        (Status.DONE, {"exit_code": 12}, 12),
        (Status.CANCELLED, None, 130),
        (Status.CANCELLED, {"exit_code": 130}, 130),
        (Status.CANCELLED, {"exit_code": 30}, 130),
        (Status.LOST, {"exit_code": 30}, 30),
        (Status.FAILED, None, 30),
    ],
)
def test_the_exit_code_is_the_command_lines(
    status: Status, summary: dict[str, Any] | None, code: int | None
) -> None:
    assert api.exit_code(Run(status=status, summary=summary)) == code


@pytest.mark.django_db
@pytest.mark.parametrize("number", ["9" * 5000, "\u0661"])
def test_a_version_that_is_no_short_number_is_refused(call: Call, number: str) -> None:
    body = {**BODY, "policy": f"steady@{number}"}
    refused = call("post", "/runs", body, Idempotency_Key="one")
    assert refused.status_code == 422
    assert "at most 9 digits" in refused.json()["errors"][0]["detail"]


@pytest.mark.django_db
def test_a_wait_is_bounded(call: Call, run: Run) -> None:
    began = time.monotonic()
    assert call("get", f"/runs/{run.pk}?wait=0.3").json()["status"] == "queued"
    assert 0.3 <= time.monotonic() - began < 10
    for text in ("31", "-1", "soon", "nan"):
        assert call("get", f"/runs/{run.pk}?wait={text}").status_code == 422


@pytest.mark.django_db(transaction=True)
def test_a_wait_ends_with_the_run(call: Call, claimed: Run, tmp_path: Path) -> None:
    def end() -> None:
        time.sleep(0.3)
        ledger = Ledger(claimed, tmp_path, publish=lambda *_: None)
        ledger.finish(Status.DONE, summary=SUMMARY)
        connection.close()

    thread = threading.Thread(target=end)
    thread.start()
    began = time.monotonic()
    said = call("get", f"/runs/{claimed.pk}?wait=30").json()
    thread.join()
    assert said["verdict"] == "pass"
    assert time.monotonic() - began < 20


@pytest.mark.django_db
def test_a_cancel_is_accepted_once(call: Call, run: Run) -> None:
    first = call("post", f"/runs/{run.pk}/cancel")
    assert (first.status_code, first.json()["status"]) == (202, "cancelled")
    late = call("post", f"/runs/{run.pk}/cancel")
    assert late.status_code == 409
    assert "already ended" in late.json()["detail"]


@pytest.mark.django_db
def test_runs_are_listed_newest_first_by_cursor(
    call: Call,
    actor: Actor,
    launch: Any,
) -> None:
    made = [str(services.start(actor=actor, launch=launch).pk) for _ in range(3)]
    page = call("get", "/runs?page_size=2").json()
    assert [row["id"] for row in page["results"]] == made[:0:-1]
    assert page["next"]


@pytest.mark.django_db
def test_windows_come_in_order(call: Call, claimed: Run, tmp_path: Path) -> None:
    play(claimed, tmp_path, seconds=4)
    page = call("get", f"/runs/{claimed.pk}/windows?page_size=3").json()
    assert [row["index"] for row in page["results"]] == [0, 1, 2]
    assert page["results"][0]["data"]["cohort"]["offered"] == 10

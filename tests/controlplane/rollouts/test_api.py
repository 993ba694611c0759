"""Rollouts over the API: a program proposes, starts, looks and aborts, and never approves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controlplane.audit.models import AuditEntry
from controlplane.rollouts.models import Rollout
from controlplane.teams.rights import Actor
from tests.controlplane.rollouts.conftest import World
from tests.controlplane.rollouts.plans import plan

pytestmark = pytest.mark.django_db
ApiAs = Callable[..., Callable[..., Any]]


def test_a_program_proposes_starts_looks_and_aborts(
    world: World, operator: Actor, api_as: ApiAs
) -> None:
    call = api_as(operator)
    body = {"document": plan("canary", "full")}
    made = call("post", "/rollouts", body, Idempotency_Key="k-1")
    assert made.status_code == 201, made.content
    found = made.json()
    assert (found["phase"], found["stage_name"]) == ("draft", "Canary")
    assert call("post", "/rollouts", body, Idempotency_Key="k-1").json() == found
    where = found["links"]["self"].removeprefix("/api/v1")
    started = call("post", f"{where}/start").json()
    assert (started["phase"], started["approvals_needed"], started["approvals_held"]) == (
        "waiting", 1, 0,
    )  # fmt: skip
    assert call("post", f"{where}/start").status_code == 409
    world.go()
    looked = call("get", where).json()
    assert [event["verb"] for event in looked["events"]] == ["start", "propose"]
    assert looked["plan"]["spec"]["candidate"] == "steady@2"
    ended = call("post", f"{where}/abort", {"reason": "wrong day"}).json()
    assert ended["phase"] == "aborted"
    assert "wrong day" in ended["because"]
    assert call("post", f"{where}/abort").status_code == 409
    assert [one["id"] for one in call("get", "/rollouts").json()["results"]] == [found["id"]]


def test_a_plans_fault_points_into_the_body(world: World, operator: Actor, api_as: ApiAs) -> None:
    body = {"document": plan("canary", "full", gateway="away")}
    answer = api_as(operator)("post", "/rollouts", body, Idempotency_Key="k")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "#/document/spec/gateway"


def test_a_token_that_would_approve_is_told_why_not_and_where_a_person_can(
    propose: Callable[..., Rollout], approver: Actor, api_as: ApiAs
) -> None:
    rollout = propose("canary", "full")
    answer = api_as(approver)("post", f"/rollouts/{rollout.pk}/approve")
    assert answer.status_code == 403
    detail = answer.json()["detail"]
    assert "A token can never approve" in detail
    assert detail.endswith(rollout.get_absolute_url())
    assert AuditEntry.objects.get(outcome="denied").verb == "approve_rollout"

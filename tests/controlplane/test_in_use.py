"""What a run used stays: its evidence names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.examples import POLICY, SLO
from controlplane.catalogue.services import endpoints, lines, workloads
from controlplane.runs.models import Run
from controlplane.teams.rights import Actor

KINDS = ["endpoint", "workload", "slo", "policy"]


@pytest.fixture
def used(operator: Actor) -> dict[str, Any]:
    made: dict[str, Any] = {
        "endpoint": endpoints.create_endpoint(
            actor=operator, document=EndpointDocument("e", "http://127.0.0.1:9999", "m")
        ),
        "workload": workloads.create_workload(actor=operator, name="w", document={"kind": "fixed"}),
        "slo": lines.save_slo(actor=operator, document=SLO).line,
        "policy": lines.save_policy(actor=operator, document=POLICY).line,
    }
    Run.objects.create(
        team=operator.team,
        endpoint=made["endpoint"],
        workload=made["workload"],
        policy_version=made["policy"].latest,
        slo_version=made["slo"].latest,
        scenario={"duration_s": 60},
        seed=1,
    )
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_refuses_to_delete_it_and_says_by_what_it_is_used(
    kind: str, used: dict[str, Any], operator: Actor, page_as: Callable[[Actor], Client]
) -> None:
    row = used[kind]
    asked = page_as(operator).post(f"{row.get_absolute_url()}delete/", follow=True)
    assert "is used by run " in asked.content.decode()
    row.refresh_from_db()
    assert not AuditEntry.objects.filter(verb=f"delete_{kind}").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_the_api_refuses_with_a_conflict(
    kind: str, used: dict[str, Any], operator: Actor, api_as: Callable[..., Callable[..., Any]]
) -> None:
    many = {"policy": "policies"}.get(kind, f"{kind}s")
    answer = api_as(operator)("delete", f"/{many}/{used[kind].pk}", If_Match="*")
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:headway:problem:in-use"
    used[kind].refresh_from_db()

"""The page of two finished runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.test import Client
from django.urls import reverse

from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.services import endpoints
from controlplane.comparisons.asking import Ask
from controlplane.runs.models import Run, Status
from controlplane.runs.storage import directory
from controlplane.teams.rights import Actor
from tests.headway.test_compare import run_of


def ended(operator: Actor, ask: Ask, **files: Any) -> Run:
    document = EndpointDocument(f"e{Run.objects.count()}", "http://127.0.0.1:9999", "m")
    run = Run.objects.create(
        team=operator.team,
        endpoint=endpoints.create_endpoint(actor=operator, document=document),
        workload=ask.workload,
        policy_version=ask.baseline,
        scenario={"duration_s": 10},
        seed=1,
        status=Status.DONE,
    )
    directory(run).parent.mkdir(parents=True, exist_ok=True)
    run_of(directory(run), **{"limit": 8, "slow": 0.05} | files)
    return run


def shown(client: Client, a: Run, b: Run) -> str:
    return client.get(reverse("comparisons:runs"), {"a": a.pk, "b": b.pk}).content.decode()


def test_two_runs_of_one_load_stand_side_by_side_without_a_verdict(
    operator: Actor, ask: Ask, page_as: Callable[[Actor], Client]
) -> None:
    a, b = ended(operator, ask), ended(operator, ask, slow=0.25)
    page = shown(page_as(operator), a, b)
    assert "100 pairs of requests: 0 were bad in A alone, 100 in B alone, 0 in both." in page
    assert "No verdict" in page


def test_runs_that_were_not_asked_the_same_are_refused(
    operator: Actor, ask: Ask, page_as: Callable[[Actor], Client]
) -> None:
    a, b = ended(operator, ask), ended(operator, ask, last=90)
    assert "The runs were not asked the same." in shown(page_as(operator), a, b)


def test_another_teams_runs_are_not_there(
    operator: Actor, ask: Ask, stranger: Actor, page_as: Callable[[Actor], Client]
) -> None:
    a, b = ended(operator, ask), ended(operator, ask, slow=0.25)
    page = shown(page_as(stranger), a, b)
    assert "No run has ended yet" in page
    assert "pairs of requests" not in page

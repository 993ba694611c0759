"""Starting, cancelling and retrying: rights, caps, audit, and who wins a race."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer
from django.db import connection
from kombu.exceptions import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.models import Endpoint, Tenant
from controlplane.celery import app
from controlplane.runs import launch as launching
from controlplane.runs import live, services
from controlplane.runs.launch import Launch
from controlplane.runs.models import Run, Status
from controlplane.teams.models import Role, Team
from controlplane.teams.rights import Actor, Denied
from documents.problem import DocumentError
from tests.controlplane.runs.conftest import member


def paths(error: pytest.ExceptionInfo[DocumentError]) -> list[str]:
    return [problem.path for problem in error.value.problems]


def with_rest(launch: Launch, **rest: Any) -> Launch:
    return replace(launch, rest={**launch.rest, **rest})


@pytest.mark.django_db
def test_a_start_freezes_the_scenario_and_queues_the_run(
    actor: Actor, launch: Launch, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as sent:
        run = services.start(actor=actor, launch=launch)
    assert len(sent) == 1
    assert run.status == Status.QUEUED
    assert run.scenario["endpoint"]["base_url"] == launch.endpoint.base_url
    assert run.scenario["arrivals"] == {"process": "poisson", "rate": 20}
    assert (run.seed, run.duration_s, run.created_by) == (7, 60.0, actor.user)
    assert run.scenario_sha256 == launch.scenario().sha256
    entry = AuditEntry.objects.get(verb="start_run")
    assert (entry.actor, entry.object_id, entry.detail["scenario_sha256"]) == (
        "ada",
        str(run.pk),
        run.scenario_sha256,
    )


@pytest.mark.django_db
def test_workers_are_stored_with_the_run_and_change_no_scenario(
    actor: Actor, launch: Launch
) -> None:
    alone, shared = launch, with_rest(launch, workers=3)
    assert shared.scenario().sha256 == alone.scenario().sha256
    run = services.start(actor=actor, launch=shared)
    assert (run.workers, services.start(actor=actor, launch=alone).workers) == (3, 1)
    Run.objects.filter(pk=run.pk).update(status=Status.DONE)
    run.refresh_from_db()
    assert services.retry(actor=actor, run=run).workers == 3
    for wrong in (0, 17, 2.5, True, "many"):
        with pytest.raises(DocumentError) as refused:
            services.start(actor=actor, launch=with_rest(launch, workers=wrong))
        assert paths(refused) == ["workers"]


@pytest.mark.django_db
def test_machines_are_stored_with_the_run_and_change_no_scenario(
    actor: Actor, launch: Launch
) -> None:
    shared = with_rest(launch, machines=3)
    assert shared.scenario().sha256 == launch.scenario().sha256
    run = services.start(actor=actor, launch=shared)
    assert (run.machines, run.workers) == (3, 1)
    Run.objects.filter(pk=run.pk).update(status=Status.DONE)
    run.refresh_from_db()
    assert services.retry(actor=actor, run=run).machines == 3
    for wrong, path in (({"machines": 17}, "machines"), ({"machines": 2, "workers": 2}, "workers")):
        with pytest.raises(DocumentError) as refused:
            services.start(actor=actor, launch=with_rest(launch, **wrong))
        assert paths(refused) == [path]


@pytest.mark.django_db
def test_a_scenario_never_holds_a_credential(run: Run, endpoint: Endpoint) -> None:
    assert "credential" not in str(run.scenario)
    assert set(run.scenario["endpoint"]) == {"name", "base_url", "model", "kind"}


@pytest.mark.django_db
def test_two_runs_without_a_seed_have_different_schedules(launch: Launch) -> None:
    rest = {name: value for name, value in launch.rest.items() if name != "seed"}
    free = replace(launch, rest=rest)
    assert free.scenario().seed != free.scenario().seed


@pytest.mark.django_db
def test_a_viewer_can_neither_start_nor_cancel(team: Team, launch: Launch, run: Run) -> None:
    viewer = Actor(member(team, "eve", Role.VIEWER), team, Role.VIEWER)
    with pytest.raises(Denied):
        services.start(actor=viewer, launch=launch)
    with pytest.raises(Denied):
        services.cancel(actor=viewer, run=run)
    run.refresh_from_db()
    assert run.status == Status.QUEUED
    assert AuditEntry.objects.filter(outcome="denied").count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("cap", "rest", "path"),
    [
        ({"max_duration_s": 30}, {}, "duration_s"),
        ({"max_rate": 10}, {}, "arrivals.rate"),
        ({"max_concurrency": 4}, {}, "policy"),
        (
            {"max_concurrency": 4},
            {"arrivals": {"process": "closed", "concurrency": 5}},
            "arrivals.concurrency",
        ),
    ],
)
def test_an_endpoints_caps_are_kept(
    actor: Actor, launch: Launch, cap: dict[str, Any], rest: dict[str, Any], path: str
) -> None:
    for name, value in cap.items():
        setattr(launch.endpoint, name, value)
    with pytest.raises(DocumentError) as error:
        services.start(actor=actor, launch=with_rest(launch, **rest))
    assert paths(error) == [path]
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_what_lies_within_the_caps_is_run(actor: Actor, launch: Launch) -> None:
    launch.endpoint.max_rate, launch.endpoint.max_concurrency = 20, 8
    launch.endpoint.max_duration_s = 60
    assert services.start(actor=actor, launch=launch).status == Status.QUEUED


@pytest.mark.django_db
def test_tenants_of_the_workload_come_with_their_tier(team: Team) -> None:
    Tenant.objects.create(team=team, name="Gold", slug="gold", tier="vip", weight=3.0)
    assert launching.tenants(team, {"gold": 1, "stranger": 2}) == {
        "gold": {"tier": "vip", "weight": 3.0},
        "stranger": {"tier": "normal", "weight": 1.0},
    }


@pytest.mark.django_db
def test_a_queued_run_is_cancelled_at_once_and_not_twice(actor: Actor, run: Run) -> None:
    services.cancel(actor=actor, run=run)
    assert (run.status, run.reason) == (Status.CANCELLED, "Cancelled by ada.")
    assert run.ended_at is not None
    with pytest.raises(services.AlreadyEnded):
        services.cancel(actor=actor, run=run)
    assert AuditEntry.objects.filter(verb="cancel_run").count() == 1


@pytest.mark.django_db
def test_a_running_run_is_asked_to_stop_and_asking_again_is_no_fault(
    actor: Actor, claimed: Run
) -> None:
    services.cancel(actor=actor, run=claimed)
    assert claimed.status == Status.CANCELLING
    before = claimed.seq
    services.cancel(actor=actor, run=claimed)
    assert (claimed.status, claimed.seq) == (Status.CANCELLING, before)
    assert AuditEntry.objects.filter(verb="cancel_run").count() == 1


@pytest.mark.django_db
def test_a_cancelled_run_is_not_claimed(actor: Actor, run: Run) -> None:
    services.cancel(actor=actor, run=run)
    assert services.claim(run.pk) is None


@pytest.mark.django_db
def test_a_retry_is_a_new_run_of_the_same_scenario(actor: Actor, run: Run) -> None:
    with pytest.raises(services.StillLive):
        services.retry(actor=actor, run=run)
    services.cancel(actor=actor, run=run)
    again = services.retry(actor=actor, run=run)
    assert again.pk != run.pk
    assert (again.retry_of, again.status) == (run, Status.QUEUED)
    assert again.scenario_sha256 == run.scenario_sha256


@pytest.mark.django_db(transaction=True)
def test_one_of_many_workers_claims_a_run(run: Run) -> None:
    start, won = threading.Barrier(6), []

    def claim() -> None:
        start.wait()
        won.append(services.claim(run.pk) is not None)
        connection.close()

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 5 + [True]


@pytest.mark.django_db(transaction=True)
def test_a_cancel_and_a_claim_at_once_leave_one_story(actor: Actor, launch: Launch) -> None:
    for _ in range(5):
        run = services.start(actor=actor, launch=launch)
        start, claimed = threading.Barrier(2), []

        def claim(run: Run = run, start: Any = start, claimed: Any = claimed) -> None:
            start.wait()
            claimed.append(services.claim(run.pk))
            connection.close()

        thread = threading.Thread(target=claim)
        thread.start()
        start.wait()
        services.cancel(actor=actor, run=run)
        thread.join()
        run.refresh_from_db()
        assert run.status == (Status.CANCELLING if claimed[0] else Status.CANCELLED)


@pytest.mark.django_db
def test_an_api_body_names_objects_by_slug_version_or_id(team: Team, launch: Launch) -> None:
    body = {
        "endpoint": launch.endpoint.slug,
        "policy": "steady@1",
        "workload": str(launch.workload.pk),
        "slo": "chat",
        "arrivals": {"process": "constant", "rate": 5},
        "duration_s": 10,
    }
    found = launching.parse(team, body)
    assert (found.endpoint, found.workload) == (launch.endpoint, launch.workload)
    assert found.policy_version == launch.policy_version
    assert found.slo_version == launch.slo_version
    assert launching.parse(team, body | {"slo": None}).slo_version is None


@pytest.mark.django_db
def test_an_api_body_is_refused_with_every_fault_in_it(team: Team, launch: Launch) -> None:
    with pytest.raises(DocumentError) as error:
        launching.parse(
            team, {"endpoint": "nowhere", "policy": "steady@x", "workload": 3, "rate": 1}
        )
    of_the_scenario = ["arrivals", "duration_s"]
    assert paths(error) == ["rate", "endpoint", "policy", "workload", *of_the_scenario]


@pytest.mark.django_db
def test_another_teams_objects_are_as_good_as_absent(launch: Launch) -> None:
    other = Team.objects.create(name="Other", slug="other")
    with pytest.raises(DocumentError) as error:
        launching.parse(
            other,
            {"endpoint": str(launch.endpoint.pk), "policy": "steady", "workload": "short"},
        )
    assert paths(error)[:3] == ["endpoint", "policy", "workload"]


@pytest.mark.django_db(transaction=True)
def test_a_run_stands_even_if_the_broker_is_away(
    actor: Actor, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(app, "send_task", away)
    assert services.start(actor=actor, launch=launch).status == Status.QUEUED


@pytest.mark.django_db
@pytest.mark.parametrize("fault", [RedisConnectionError("away"), OSError("away"), None])
def test_a_frame_that_can_not_be_told_costs_nothing_else(
    actor: Actor, claimed: Run, monkeypatch: pytest.MonkeyPatch, fault: Exception | None
) -> None:
    """None: the broker takes the frame and never answers."""

    async def broken(*_: object) -> None:
        if fault is None:
            await asyncio.sleep(60)
        else:
            raise fault

    monkeypatch.setattr(InMemoryChannelLayer, "group_send", broken)
    monkeypatch.setattr(live, "PATIENCE", 0.05)
    services.cancel(actor=actor, run=claimed)
    assert claimed.status == Status.CANCELLING

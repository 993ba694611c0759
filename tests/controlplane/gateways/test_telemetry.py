"""Telemetry: each batch once, revisions replace, processes add up; a bad batch leaves nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from controlplane.catalogue.models import PolicyVersion
from controlplane.gateways import feed, ingest, reading, services
from controlplane.gateways.models import (
    Gateway,
    GatewayDecision,
    GatewayFault,
    GatewayProcess,
    GatewaySecond,
    GatewayWindow,
)
from measurement.outcome import Outcome
from tests.controlplane.gateways.conftest import AT, Plane
from tests.controlplane.gateways.saying import Process


@pytest.fixture
def process(edge: Gateway, tmp_path: Path) -> Process:
    return Process(feed.document(edge), tmp_path / "one", AT)


def offered(edge: Gateway) -> int:
    found = reading.arms(edge, since=AT, until=AT + 600)
    return sum(window.cohort.offered for window in found.values())


def test_a_batch_is_stored_once_and_acknowledged(
    plane: Plane, edge: Gateway, process: Process
) -> None:
    process.serve()
    process.until(AT + 2)
    batch = process.batch()
    for _ in range(3):
        answer = plane.send(batch)
        assert answer.status_code == 200
        assert answer.json() == {"stream": batch["stream"], "acknowledged": batch["sequence"]}
    assert offered(edge) == 1
    edge.refresh_from_db()
    assert (edge.seq, edge.revision_seen) == (1, 1)
    assert edge.config_seen == feed.config(edge).sha256


def test_a_revision_replaces_what_its_second_said_before(
    plane: Plane, edge: Gateway, process: Process
) -> None:
    close = process.serve(open_=True, ttft=0.9)
    process.until(AT + 1.5)
    plane.send(process.batch())
    (window,) = reading.arms(edge, since=AT, until=AT + 5).values()
    assert (window.cohort.offered, window.cohort.pending) == (1, 1)
    close()
    process.until(AT + 3)
    plane.send(process.batch())
    (window,) = reading.arms(edge, since=AT, until=AT + 5).values()
    assert (window.cohort.offered, window.cohort.pending) == (1, 0)
    assert (window.cohort.missed, window.cohort.ttft.count) == (1, 1)


def test_tenants_and_processes_of_one_second_add_up(
    plane: Plane, edge: Gateway, process: Process, tmp_path: Path
) -> None:
    other = Process(feed.document(edge), tmp_path / "two", AT)
    for one in (process, other):
        one.serve(tenant="acme")
        one.serve(tenant="bulk", outcome=Outcome.SHED, ttft=None)
        one.until(AT + 2)
        plane.send(one.batch())
    (window,) = reading.arms(edge, since=AT, until=AT + 5).values()
    assert window.cohort.offered == 4
    assert {name: row.shed for name, row in window.cohort.tenants.items()} == {
        "acme": 0, "bulk": 2,
    }  # fmt: skip
    assert reading.traffic(edge, seconds=5) is not None
    found = reading.seen(edge)
    assert found is not None
    assert found.processes == 2
    assert set(found.policies) == {"p", "q"}


def test_traffic_is_what_was_heard_of_the_last_seconds(
    plane: Plane, edge: Gateway, process: Process
) -> None:
    assert reading.traffic(edge, seconds=10) is None
    for second in range(12):
        process.until(AT + second)
        process.serve()
    process.until(AT + 12)
    plane.send(process.batch())
    assert reading.traffic(edge, seconds=10) == pytest.approx(1.0)


def faulty() -> list[tuple[Any, str]]:
    window = {"arm": "active", "policy": "0" * 64, "tenant": "a", "slo": None}
    return [
        ({"kind": "Telemetry"}, "#/kind"),
        ({"gateway": "other"}, "#/gateway"),
        ({"sequence": 0}, "#/sequence"),
        ({"windows": [window | {"window": {}}]}, "#/windows/0/window"),
        ({"windows": "all"}, "#/windows"),
        ({"blocks": [{}]}, "#/blocks/0"),
        ({"decisions": [{"lane": "p", "at": 1}]}, "#/decisions/0"),
        ({"at": "now"}, "#/at"),
        ({"revision": 2**60}, "#/revision"),
    ]


@pytest.mark.parametrize(("changed", "pointer"), faulty())
def test_a_bad_batch_is_refused_whole_with_its_place(
    changed: dict[str, Any], pointer: str, plane: Plane, edge: Gateway, process: Process
) -> None:
    process.serve()
    process.until(AT + 2)
    answer = plane.send(process.batch() | changed)
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert not GatewayWindow.objects.exists()
    assert not GatewayProcess.objects.exists()


def test_a_window_of_another_shape_is_refused(
    plane: Plane, edge: Gateway, process: Process
) -> None:
    process.serve()
    process.until(AT + 2)
    batch = process.batch()
    batch["windows"][0]["window"]["cohort"]["offered"] = "many"
    answer = plane.send(batch)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "#/windows/0/window/cohort/offered"
    assert not GatewaySecond.objects.exists()


def test_a_body_over_its_bound_is_refused(plane: Plane, edge: Gateway) -> None:
    answer = plane.send({"kind": "x" * (8 * 2**20)})
    assert answer.status_code == 413
    assert answer["Content-Type"] == "application/problem+json"


def test_faults_decisions_and_shadows_are_kept(
    plane: Plane, edge: Gateway, process: Process, wide: PolicyVersion
) -> None:
    services.set_shadow(gateway=edge, version_or_none=wide, by="r", reason="")
    process.configure(feed.document(edge))
    batch = process.batch()
    batch["faults"] = [{"at": AT, "code": "config_refused", "problems": ["lanes: is empty"]}]
    line = {"at": AT, "point": "concurrency", "law": "aimd", "before": 8, "after": 9,
            "reason": "grown", "inputs": {}}  # fmt: skip
    batch["decisions"] = [{"lane": "p", "shadow": place == 1, **line} for place in range(2)]
    batch["shadow"][0]["report"] |= {"steps": 10, "agreeing": 9}
    assert plane.send(batch).status_code == 200
    assert GatewayFault.objects.get().problems == ["lanes: is empty"]
    assert sorted(GatewayDecision.objects.values_list("shadow", flat=True)) == [False, True]
    on_p, on_q = reading.shadow_reports(edge, wide, since=AT)
    assert (on_p.lane, on_p.report.agreement) == ("p", 0.9)
    assert on_q.report.agreement is None
    assert reading.shadow_reports(edge, wide, since=AT + 1) == []


def test_seconds_go_when_nothing_can_revise_them_and_their_window_stays(
    plane: Plane, edge: Gateway, process: Process
) -> None:
    process.serve()
    for step in range(1, 16):
        process.until(AT + 10 * step)
        assert plane.send(process.batch()).status_code == 200
    assert not GatewaySecond.objects.exists()
    assert offered(edge) == 1


def test_a_batch_that_comes_again_after_weeks_is_still_known(
    plane: Plane, edge: Gateway, process: Process
) -> None:
    """The answer got lost, and the outage after it outlived every window."""
    process.serve()
    process.until(AT + 2)
    batch = process.batch()
    plane.send(batch)
    ingest.prune(edge, datetime.fromtimestamp(AT, UTC) + timedelta(days=60))
    assert not GatewayWindow.objects.exists()
    assert plane.send(batch).json()["acknowledged"] == batch["sequence"]
    assert not GatewayWindow.objects.exists()


def test_windows_are_pruned_when_the_installation_keeps_them_no_longer(
    plane: Plane, edge: Gateway, process: Process, settings: Any
) -> None:
    process.serve()
    process.until(AT + 2)
    plane.send(process.batch())
    later = datetime.fromtimestamp(AT, UTC) + timedelta(seconds=settings.GATEWAY_HISTORY_S)
    ingest.prune(edge, later - timedelta(seconds=10))
    assert offered(edge) == 1
    ingest.prune(edge, later + timedelta(seconds=10))
    assert offered(edge) == 0

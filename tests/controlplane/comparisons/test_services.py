"""Starting, stopping and carrying out comparisons, as a person, a rollout and a worker do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.documents import EndpointDocument
from controlplane.catalogue.services import endpoints
from controlplane.comparisons import execution, services, watchdog
from controlplane.comparisons.asking import Ask
from controlplane.comparisons.ledger import ComparisonLedger
from controlplane.comparisons.models import Comparison, ComparisonBlock, Status
from controlplane.runs.ledger import Superseded
from controlplane.teams.rights import Actor, Denied
from documents.canonical import canonical
from documents.problem import DocumentError
from measurement.comparison.block import ArmCounts, Block
from measurement.comparison.stored import recompute
from tests.controlplane.comparisons.conftest import over


def test_a_harmful_version_is_found_on_the_model_by_a_real_worker(comparison: Comparison) -> None:
    claimed = services.claim(comparison.pk)
    assert claimed is not None
    execution.execute(claimed)
    claimed.refresh_from_db()
    assert claimed.status == Status.DONE, claimed.reason
    assert claimed.outcome == "harm"
    assert "attainment was missed by" in claimed.because
    stored = claimed.result["stored"]
    assert canonical(recompute(stored)) == canonical(stored)
    assert claimed.verdict == stored["verdict"]
    kept = list(ComparisonBlock.objects.filter(comparison=claimed).values_list("data", flat=True))
    assert kept == stored["evidence"]["blocks"]
    assert "stated error" in claimed.result["notes"][0]


def test_starting_one_is_audited_and_tells_its_power(comparison: Comparison) -> None:
    entry = AuditEntry.objects.get(verb="start_comparison")
    assert entry.actor == comparison.by
    assert comparison.power[0]["criterion"] == "attainment"
    assert 0 < comparison.power[0]["harm"] <= 1


def test_a_rollout_starts_and_stops_one_in_its_own_name(operator: Actor, ask: Ask) -> None:
    started = services.start_for(team=operator.team, by="rollout 12", ask=ask)
    assert started.created_by is None
    ended = services.cancel_by_system(by="rollout 12", comparison=started, reason="rolled back")
    assert (ended.status, ended.reason) == (Status.CANCELLED, "rolled back")
    assert {entry.actor for entry in AuditEntry.objects.filter(object_kind="comparison")} == {
        "rollout 12"
    }
    with pytest.raises(services.AlreadyEnded):
        services.cancel_by_system(by="rollout 12", comparison=started, reason="again")


def test_a_viewer_can_start_none(actor_as, ask: Ask) -> None:
    with pytest.raises(Denied):
        services.start(actor=actor_as("viewer"), ask=ask)
    assert AuditEntry.objects.get(verb="start_comparison").outcome == "denied"


def test_two_lanes_on_one_endpoint_are_refused(operator: Actor, ask: Ask) -> None:
    document = EndpointDocument("e", "http://127.0.0.1:9999", "m")
    one = endpoints.create_endpoint(actor=operator, document=document)
    with pytest.raises(DocumentError, match="arms never share an engine"):
        services.start(actor=operator, ask=over(ask, where="endpoints", endpoints=(one, one)))


def test_an_endpoints_caps_hold_for_both_policies(operator: Actor, ask: Ask) -> None:
    document = EndpointDocument("e", "http://127.0.0.1:9999", "m", max_rate=5)
    one = endpoints.create_endpoint(actor=operator, document=document)
    with pytest.raises(DocumentError, match="at most 5 requests per second"):
        services.start(actor=operator, ask=over(ask, where="switchback", endpoints=(one,)))


def test_a_closed_loop_is_refused_with_the_reason(operator: Actor, ask: Ask) -> None:
    closed = over(ask, arrivals={"process": "closed", "concurrency": 4})
    with pytest.raises(DocumentError, match="would not be asked the same"):
        services.start(actor=operator, ask=closed)


def test_a_dead_supervisors_comparison_is_lost_and_keeps_its_blocks(
    comparison: Comparison,
) -> None:
    claimed = services.claim(comparison.pk)
    assert claimed is not None
    block = Block(0, "P", 2.5, ArmCounts(), ArmCounts()).to_json()
    ComparisonBlock.objects.create(comparison=claimed, index=0, seq=1, data=block, arms={})
    later = timezone.now() + timedelta(seconds=60)
    assert watchdog.sweep(now=later).lost == 1
    claimed.refresh_from_db()
    assert claimed.status == Status.LOST
    assert claimed.blocks.count() == 1
    with pytest.raises(Superseded):
        ComparisonLedger(claimed, execution.directory(claimed)).store()


def test_one_that_no_worker_takes_says_so(comparison: Comparison) -> None:
    later = timezone.now() + timedelta(seconds=90)
    assert watchdog.sweep(now=later).unclaimed == 1
    comparison.refresh_from_db()
    assert comparison.reason.startswith("No worker has taken this comparison yet")


def test_the_same_comparison_is_taken_once(comparison: Comparison) -> None:
    assert services.claim(comparison.pk) is not None
    assert services.claim(comparison.pk) is None

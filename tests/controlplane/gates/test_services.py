"""Keeping and running gates: versions, rights, audit, what a caller may replace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from controlplane.audit.models import AuditEntry
from controlplane.catalogue.models import Endpoint, Policy
from controlplane.catalogue.services import lines
from controlplane.catalogue.services.removal import delete
from controlplane.gates import services
from controlplane.gates.models import Gate, GateRun
from controlplane.runs.models import Run
from controlplane.teams.rights import Actor, Denied
from documents.problem import DocumentError
from tests.controlplane.gates.conftest import document
from tests.controlplane.runs.conftest import POLICY

pytestmark = pytest.mark.django_db


def test_a_changed_document_is_a_new_version_and_an_equal_one_is_none(
    actor: Actor, gate: Gate
) -> None:
    same = services.save_gate(actor=actor, document=document(), line=gate)
    assert (same.version.number, same.new) == (1, False)
    other = services.save_gate(actor=actor, document=document(seed=8), line=gate)
    assert (other.version.number, other.new) == (2, True)
    verbs = AuditEntry.objects.filter(object_kind="gate").values_list("verb", flat=True)
    assert sorted(verbs) == ["change_gate", "create_gate"]


def test_the_database_itself_refuses_to_change_a_version(gate: Gate) -> None:
    statement = "UPDATE gates_gateversion SET number = 9"
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"endpoint": "away"}, "spec.endpoint"),
        ({"policy": "steady@9"}, "spec.policy"),
        ({"arrivals": {"process": "poisson", "rate": 10**9}}, "spec.arrivals.rate"),
        ({"warm_up_s": 60}, "spec.warm_up_s"),
    ],
)
def test_a_gate_whose_load_could_not_be_run_is_not_kept(
    actor: Actor, launch: Any, spec: dict[str, Any], path: str
) -> None:
    Endpoint.objects.update(max_rate=1_000)
    with pytest.raises(DocumentError) as error:
        services.save_gate(actor=actor, document=document(**spec))
    assert path in [problem.path for problem in error.value.problems]
    assert not Gate.objects.exists()


def test_a_run_of_a_gate_is_a_run_of_its_newest_version(actor: Actor, gate: Gate) -> None:
    services.save_gate(actor=actor, document=document(seed=8), line=gate)
    gate_run = services.start(actor=actor, gate=gate)
    assert (gate_run.version.number, gate_run.run.seed) == (2, 8)
    assert gate_run.run.scenario["duration_s"] == 60
    entry = AuditEntry.objects.get(verb="run_gate")
    assert entry.detail == {"run": str(gate_run.pk), "version": 2}
    assert str(gate_run.run.slo_version) == "v1"


def test_a_caller_may_name_another_policy_where_the_gate_allows_it(
    actor: Actor, gate: Gate
) -> None:
    changed = {**POLICY, "spec": {"concurrency": {"law": "fixed", "limit": 4}}}
    lines.save_policy(actor=actor, document=changed, line=Policy.objects.get())
    newest = services.start(actor=actor, gate=gate)
    older = services.start(actor=actor, gate=gate, overrides={"policy": "steady@1"})
    assert newest.run.policy_version.number == 2
    assert (older.run.policy_version.number, older.overrides) == (1, {"policy": "steady@1"})
    with pytest.raises(DocumentError, match="this team has no such policy") as error:
        services.start(actor=actor, gate=gate, overrides={"policy": "away"})
    assert [problem.path for problem in error.value.problems] == ["policy"]


def test_what_the_catalogue_lost_since_is_told_as_the_gates_fault(actor: Actor, gate: Gate) -> None:
    Endpoint.objects.update(slug="moved")
    with pytest.raises(DocumentError, match=r"the gate's own Endpoint .*change the gate"):
        services.start(actor=actor, gate=gate)
    assert not Run.objects.exists()


def test_a_target_that_may_not_be_called_is_told_as_such(actor: Actor, gate: Gate) -> None:
    Endpoint.objects.update(base_url="http://10.0.0.1:8000")
    with pytest.raises(services.TargetNotAllowed, match="HEADWAY_EGRESS"):
        services.start(actor=actor, gate=gate)


def test_a_viewer_may_neither_keep_nor_run_a_gate_and_both_are_noted(
    gate: Gate, actor_as: Callable[..., Actor]
) -> None:
    viewer = actor_as("viewer")
    with pytest.raises(Denied):
        services.save_gate(actor=viewer, document=document(seed=9), line=gate)
    with pytest.raises(Denied):
        services.start(actor=viewer, gate=gate)
    denied = AuditEntry.objects.filter(outcome="denied").values_list("verb", flat=True)
    assert sorted(denied) == ["change_gate", "run_gate"]


def test_a_deleted_gate_leaves_its_runs(actor: Actor, gate_run: GateRun) -> None:
    delete(actor=actor, row=gate_run.gate)
    assert not Gate.objects.exists()
    assert not GateRun.objects.exists()
    assert Run.objects.filter(pk=gate_run.pk).exists()

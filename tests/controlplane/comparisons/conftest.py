"""A team with two versions of a policy, and what else a comparison names."""

from __future__ import annotations

import dataclasses

import pytest

from controlplane.catalogue.models import PolicyVersion
from controlplane.catalogue.services import lines, workloads
from controlplane.comparisons import services
from controlplane.comparisons.asking import Ask
from controlplane.comparisons.models import Comparison
from controlplane.teams.rights import Actor

SLO = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "chat", "owner": "platform"},
    "spec": {
        "target": 0.9,
        "objectives": [{"metric": "ttft_ms", "max": 300}, {"metric": "error", "max": 0}],
    },
}


def policy(limit: int) -> dict:
    return {
        "apiVersion": "headway/v1",
        "kind": "Policy",
        "metadata": {"name": "steady", "owner": "platform"},
        "spec": {"concurrency": {"law": "fixed", "limit": limit}},
    }


@pytest.fixture
def versions(operator: Actor) -> tuple[PolicyVersion, PolicyVersion]:
    """A good one, and one that lets in far too little."""
    first = lines.save_policy(actor=operator, document=policy(32))
    second = lines.save_policy(actor=operator, document=policy(1), line=first.line)
    return first.version, second.version


@pytest.fixture
def ask(operator: Actor, versions: tuple[PolicyVersion, PolicyVersion]) -> Ask:
    """Short: some 40 requests an arm and block on the engine model."""
    document = {"kind": "fixed", "prompt_tokens": 16, "output_tokens": 8}
    workload = workloads.create_workload(actor=operator, name="short", document=document)
    slo = lines.save_slo(actor=operator, document=SLO).version
    baseline, candidate = versions
    return Ask(
        baseline=baseline,
        candidate=candidate,
        slo_version=slo,
        workload=workload,
        arrivals={"process": "poisson", "rate": 20},
        blocks=80,
        block_s=2.5,
        washout_s=0.5,
    )


@pytest.fixture
def comparison(operator: Actor, ask: Ask) -> Comparison:
    """Queued; the task that would take it is never sent, as no transaction commits."""
    return services.start(actor=operator, ask=ask)


def over(ask: Ask, **changes: object) -> Ask:
    return dataclasses.replace(ask, **changes)

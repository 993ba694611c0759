"""A team with a gate over the runs' own catalogue, and runs of it that have ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest
from django.utils import timezone

from controlplane.gates import services
from controlplane.gates.models import Gate, GateRun
from controlplane.runs.ledger import ending
from controlplane.runs.models import Run, Status
from controlplane.runs.storage import directory
from controlplane.teams.rights import Actor
from loadtest.recorder import Recorder
from measurement.column_builder import columns_of
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.validity import Validity
from measurement.verdict import judge_samples
from tests.controlplane.runs.conftest import (  # noqa: F401 - fixtures, found by name
    actor,
    endpoint,
    launch,
    policy_version,
    sample,
    slo_version,
    user,
    workload,
)

DOCUMENT: dict[str, Any] = {
    "apiVersion": "headway/v1",
    "kind": "Gate",
    "metadata": {"name": "chat-gate", "owner": "platform", "description": "What CI asks"},
    "spec": {
        "endpoint": "sim",
        "policy": "steady",
        "workload": "short",
        "slo": "chat",
        "arrivals": {"process": "poisson", "rate": 20},
        "duration_s": 60,
        "seed": 7,
        "thresholds": ["ttft_ms: p(95)<800", "errors<=0.05"],
        "overrides": ["policy"],
    },
}


def document(**spec: Any) -> dict[str, Any]:
    """The gate's document with other fields; None takes one out."""
    made = deepcopy(DOCUMENT)
    made["spec"] |= spec
    made["spec"] = {name: value for name, value in made["spec"].items() if value is not None}
    return made


@pytest.fixture
def gate(actor: Actor, launch: Any) -> Gate:  # noqa: F811
    """``launch`` brings endpoint, policy, workload and SLO."""
    return services.save_gate(actor=actor, document=DOCUMENT).line


@pytest.fixture
def gate_run(actor: Actor, gate: Gate) -> GateRun:  # noqa: F811
    return services.start(actor=actor, gate=gate)


def end(run: Run, samples: Sequence[Sample], *, invalid: str = "") -> None:
    """End a run as its supervisor would, with these samples on disk."""
    out = directory(run)
    out.mkdir(parents=True, exist_ok=True)
    with Recorder(out) as recorder:
        for one in samples:
            recorder.sample(one)
    validity = Validity("invalid", (invalid,)) if invalid else Validity()
    slo = Slo.parse(run.scenario["slo"]) if run.scenario["slo"] else None
    verdict = judge_samples(columns_of(samples), slo, validity)
    silent = slo is None and not invalid and not any(one.outcome.success for one in samples)
    summary = {
        "verdict": verdict.outcome,
        "judgement": verdict.to_json(),
        "offered": len(samples),
        "exit_code": 30 if silent else verdict.exit_code,
    }
    values = {"status": Status.DONE, "ended_at": timezone.now(), **ending(summary)}
    Run.objects.filter(pk=run.pk).update(**values)
    run.refresh_from_db()


@pytest.fixture
def ended(gate_run: GateRun) -> Callable[..., GateRun]:
    """``ended(1_000, slow=100)``: the gate's run, over, with every tenth answer slow."""

    def make(n: int, *, slow: int = 0, **more: Any) -> GateRun:
        every = n // slow if slow else n + 1
        times = [(index, index * 60 / n) for index in range(n)]
        late = {"first_token_at": 2.0, "last_token_at": 2.2, "done_at": 2.2}
        samples = [
            sample(
                i, at, **({name: at + s for name, s in late.items()} if not (i + 1) % every else {})
            )
            for i, at in times
        ]
        end(gate_run.run, samples, **more)
        return GateRun.objects.with_names().get(pk=gate_run.pk)

    return make

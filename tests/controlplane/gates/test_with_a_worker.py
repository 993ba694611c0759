"""The whole way of CI: the command, a real server, Celery, the load test and the engine model."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.catalogue.models import Endpoint
from controlplane.catalogue.services import lines
from controlplane.gates import services
from controlplane.runs.models import Run
from controlplane.teams.rights import Actor
from controlplane.teams.services import create_token
from tests.controlplane.gates.conftest import document
from tests.controlplane.runs.conftest import SLO
from tests.controlplane.runs.test_with_a_worker import (  # noqa: F401 - fixtures, found by name
    awake,
    celery_worker,
    engine,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

# A patient TTFT objective, and a worker that goes first where it may: so other work on the machine
# seldom makes the run invalid. Where it does, rightly, the gate is called once more.
LOAD: dict[str, Any] = {"arrivals": {"process": "constant", "rate": 25}, "duration_s": 3}
TRIES, INVALID = 6, 13
PATIENT = {"metric": "ttft_ms", "max": 30_000}
HOPELESS = {"metric": "e2e_ms", "max": 0.01}


@pytest.fixture(autouse=True)
def _by_its_name(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]


@pytest.fixture
def ci(
    actor: Actor,
    launch: Any,
    engine: str,  # noqa: F811
    celery_worker: subprocess.Popen[bytes],  # noqa: F811
    live_server: Any,
    tmp_path: Path,
) -> Callable[..., tuple[int, str]]:
    """``ci(*objectives, thresholds=…)``: keep a gate, call it as CI does; its code and output."""
    Endpoint.objects.filter(pk=launch.endpoint.pk).update(base_url=engine)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PGRP, celery_worker.pid, -10)
    scopes = ["read", "runs:write"]
    _token, secret = create_token(actor=actor, name="ci", scopes=scopes, expires_at=None)

    def call(*objectives: dict[str, Any], thresholds: list[str]) -> tuple[int, str]:
        spec = {"target": 0.5, "objectives": list(objectives)}
        asked_of = {**SLO, "metadata": {"name": "ci"}, "spec": spec}
        lines.save_slo(actor=actor, document=asked_of)
        asked = document(slo="ci", drain_s=5, thresholds=thresholds, **LOAD)
        services.save_gate(actor=actor, document=asked)
        argv = [sys.executable, "-m", "headway", "gate", "run", "chat-gate", "--timeout", "90s"]
        argv += ["--server", live_server.url, "--policy", "steady@1"]
        for name in ("junit", "json", "markdown"):
            argv += [f"--{name}", str(tmp_path / name)]
        environ = {"PATH": os.environ["PATH"], "HEADWAY_TOKEN": secret}
        for _ in range(TRIES):
            ended = subprocess.run(
                argv, capture_output=True, text=True, env=environ, timeout=120, check=False
            )
            assert secret not in ended.stdout + ended.stderr
            if ended.returncode != INVALID:
                break
        return ended.returncode, ended.stdout + ended.stderr

    return call


def test_a_gate_that_holds_ends_with_0(ci: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, said = ci(PATIENT, thresholds=["e2e_ms: p(50)<30000", "errors<=0.1"])
    assert code == 0, said
    assert "PASS  gate chat-gate: Passes because 100.00 % of" in said
    found = json.loads((tmp_path / "json").read_text())
    assert [one["outcome"] for one in found["thresholds"]] == ["pass", "pass"]
    assert found["overrides"] == {"policy": "steady@1"}
    assert found["id"] == str(Run.objects.latest("created_at").pk)
    [suite] = ET.parse(tmp_path / "junit").getroot()  # noqa: S314 - our own text
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "0")


def test_a_gate_that_fails_ends_with_10_and_its_junit_names_the_objective(
    ci: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, said = ci(PATIENT, HOPELESS, thresholds=["ttft_ms: p(50)<0.01", "errors<=0.1"])
    assert code == 10, said
    assert "FAIL  gate chat-gate: Fails because 0.00 % of" in said
    failures = ET.parse(tmp_path / "junit").iter("failure")  # noqa: S314 - our own text
    named = [
        one.attrib["message"].replace("Fails because ", "").partition(": 0.00 %")[0]
        for one in failures
    ]
    assert named == [
        "objective: every objective",
        "objective: E2E ≤ 0.01 ms",
        "threshold: ttft_ms: p(50)<0.01",
    ]
    assert (tmp_path / "markdown").read_text().splitlines()[1] == "### Gate chat-gate: fail"

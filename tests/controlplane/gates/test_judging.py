"""What a gate's run came to: judged once, from the samples, by the worst of all it asks."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from controlplane.gates import services
from controlplane.gates.judging import exit_code, settle
from controlplane.gates.models import Gate, GateRun
from controlplane.runs.models import Run, Status
from controlplane.runs.storage import directory
from controlplane.teams.rights import Actor
from measurement.outcome import Outcome
from tests.controlplane.gates.conftest import document, end
from tests.controlplane.runs.conftest import failed

pytestmark = pytest.mark.django_db
Ended = Callable[..., GateRun]


def test_a_live_run_is_not_judged(gate_run: GateRun) -> None:
    assert settle(gate_run).outcome == ""
    assert exit_code(gate_run) is None


@pytest.mark.parametrize(
    ("slow", "outcome", "code"), [(0, "pass", 0), (60, "inconclusive", 12), (300, "fail", 10)]
)
def test_objectives_and_thresholds_make_one_outcome(
    ended: Ended, slow: int, outcome: str, code: int
) -> None:
    found = settle(ended(1_200, slow=slow))
    assert (found.outcome, exit_code(found)) == (outcome, code)
    assert [one["threshold"] for one in found.thresholds] == ["ttft_ms: p(95)<800", "errors<=0.05"]
    assert found.thresholds[0]["outcome"] == outcome
    assert found.thresholds[1]["outcome"] == "pass"
    assert found.because


def test_it_is_judged_once_and_kept(ended: Ended) -> None:
    first = settle(ended(1_200))
    shutil.rmtree(directory(first.run))
    again = settle(GateRun.objects.get(pk=first.pk))
    assert (again.outcome, again.thresholds) == ("pass", first.thresholds)


def test_an_invalid_run_is_invalid_whatever_its_thresholds_say(ended: Ended) -> None:
    found = settle(ended(1_200, invalid="The client was too slow."))
    assert (found.outcome, exit_code(found)) == ("invalid", 13)
    assert "The client was too slow." in found.because
    assert found.thresholds[0]["outcome"] == "pass", "the numbers are still shown"


@pytest.mark.parametrize(
    ("status", "outcome", "code"),
    [
        (Status.CANCELLED, "cancelled", 130),
        (Status.LOST, "infrastructure", 30),
        (Status.FAILED, "infrastructure", 30),
        (Status.DONE, "infrastructure", 30),
    ],
)
def test_a_run_without_a_report_has_the_outcome_of_its_end(
    gate_run: GateRun, status: Status, outcome: str, code: int
) -> None:
    Run.objects.filter(pk=gate_run.pk).update(status=status, reason="So it went.")
    found = settle(GateRun.objects.get(pk=gate_run.pk))
    assert (found.outcome, exit_code(found)) == (outcome, code)
    assert "So it went." in found.because


def test_thresholds_whose_samples_are_gone_are_no_pass(ended: Ended) -> None:
    gate_run = ended(1_200)
    shutil.rmtree(directory(gate_run.run))
    found = settle(gate_run)
    assert (found.outcome, exit_code(found)) == ("infrastructure", 30)
    assert "samples can't be read" in found.because


def test_a_run_in_which_nothing_succeeded_passes_no_gate(actor: Actor, gate: Gate) -> None:
    spec = {"slo": None, "thresholds": ["rejected<=0.5"]}
    services.save_gate(actor=actor, document=document(**spec), line=gate)
    gate_run = services.start(actor=actor, gate=gate)
    end(gate_run.run, [failed(i, i / 20, Outcome.CONNECT) for i in range(1_200)])
    assert settle(gate_run).outcome == "infrastructure"

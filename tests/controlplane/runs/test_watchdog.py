"""Runs without a supervisor become lost, and keep what they had."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from controlplane.runs import watchdog
from controlplane.runs.ledger import Ledger
from controlplane.runs.models import Run, RunRow, RunWindow, Status
from controlplane.runs.services import UNCLAIMED
from tests.controlplane.runs.conftest import documents, folded

pytestmark = pytest.mark.django_db


def silent_for(run: Run, seconds: float) -> None:
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(seconds=seconds))
    run.refresh_from_db()


@pytest.fixture
def measured(claimed: Run, tmp_path: Path) -> Run:
    """A running run with three seconds of windows, the last of them open."""
    ledger = Ledger(claimed, tmp_path, publish=lambda *_: None)
    for windows in folded(3)[:3]:
        ledger.hear_windows({"windows": documents(windows)})
        ledger.store()
    claimed.refresh_from_db()
    return claimed


def test_a_run_that_beats_is_left_alone(measured: Run) -> None:
    silent_for(measured, 7)
    assert watchdog.sweep().lost == 0
    measured.refresh_from_db()
    assert measured.status == Status.RUNNING


@pytest.mark.parametrize("status", [Status.RUNNING, Status.CANCELLING])
def test_a_silent_run_is_lost_with_its_windows(measured: Run, status: Status) -> None:
    Run.objects.filter(pk=measured.pk).update(status=status)
    silent_for(measured, 9)
    before = measured.seq
    windows = RunWindow.objects.filter(run=measured).count()
    assert watchdog.sweep().lost == 1
    measured.refresh_from_db()
    assert (measured.status, measured.seq) == (Status.LOST, before + 1)
    assert "not been heard of for 9 s" in measured.reason
    assert measured.ended_at is not None
    assert RunWindow.objects.filter(run=measured).count() == windows > 0
    open_rows = [
        row for row in RunRow.objects.filter(run=measured, table="cohorts") if row.values[0]
    ]
    assert open_rows == []


def test_a_lost_run_keeps_the_report_of_its_files(
    measured: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = {"status": "lost", "verdict": "fail", "judgement": {"because": "Fails because."}}
    monkeypatch.setattr(watchdog, "recovered", lambda _out: summary)
    silent_for(measured, 9)
    watchdog.check(measured)
    assert (measured.status, measured.verdict) == (Status.LOST, "fail")
    assert measured.because == "Fails because."
    assert measured.summary == summary


def test_looking_at_a_dead_run_is_enough_to_lose_it(measured: Run) -> None:
    silent_for(measured, 9)
    assert watchdog.check(measured).status == Status.LOST


def test_a_heartbeat_that_comes_in_between_saves_the_run(
    measured: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent_for(measured, 9)

    def meanwhile(_out: Path) -> None:
        Run.objects.filter(pk=measured.pk).update(heartbeat_at=timezone.now())

    monkeypatch.setattr(watchdog, "recovered", meanwhile)
    assert watchdog.sweep().lost == 0
    measured.refresh_from_db()
    assert measured.status == Status.RUNNING


def test_a_run_that_nobody_takes_says_so_and_is_sent_again_each_minute(
    run: Run, django_capture_on_commit_callbacks: Any
) -> None:
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(seconds=61))
    with django_capture_on_commit_callbacks() as sent:
        assert watchdog.sweep() == watchdog.Swept(lost=0, unclaimed=1)
        assert watchdog.sweep() == watchdog.Swept(lost=0, unclaimed=0)
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.QUEUED, UNCLAIMED)
    assert len(sent) == 1
    silent_for(run, 61)
    assert watchdog.check(run).status == Status.QUEUED
    assert timezone.now() - run.heartbeat_at < timedelta(seconds=5)


def test_one_pass_can_be_asked_for(measured: Run) -> None:
    silent_for(measured, 9)
    out = StringIO()
    call_command("watch_runs", once=True, stdout=out)
    assert "runs: 1 lost, 0 waiting for a worker\n" in out.getvalue()

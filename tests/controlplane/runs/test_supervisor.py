"""The supervisor against real processes that behave, hang, babble and die."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection

from controlplane.runs import services
from controlplane.runs.child import Child, Ended, Garbage, environment
from controlplane.runs.ledger import Ledger
from controlplane.runs.models import Run, RunDecision, RunWindow, Status
from controlplane.runs.supervisor import Deadlines, Fate, Supervisor
from controlplane.teams.rights import Actor
from tests.controlplane.runs.conftest import documents, folded

pytestmark = pytest.mark.django_db(transaction=True)

Spawn = Callable[..., Child]
Frames = list[dict[str, Any]]
BRISK = Deadlines(poll=0.05, beat=0.2, start=5.0, silence=5.0, cancel=2.0)
STARTED = {"type": "started", "at_unix": 1_700_000_000.0, "offered": 30, "duration_s": 60}
SUMMARY = {
    "status": "finished",
    "verdict": "pass",
    "judgement": {"outcome": "pass", "because": "Passes because it did.", "n": 30},
}


def windows_message(windows: list, **more: Any) -> dict[str, Any]:
    return {"type": "windows", "windows": documents(windows), **more}


def supervise(
    run: Run,
    child: Child,
    tmp_path: Path,
    deadlines: Deadlines = BRISK,
    on_frame: Callable[[], object] = lambda: None,
) -> tuple[Fate | None, Frames]:
    frames: Frames = []

    def publish(_run: Run, frame: dict[str, Any]) -> None:
        frames.append(frame)
        on_frame()

    ledger = Ledger(run, tmp_path, publish=publish)
    fate = Supervisor(ledger, child, budget=65.0, deadlines=deadlines).run()
    run.refresh_from_db()
    return fate, frames


def test_a_run_ends_done_with_the_workers_verdict(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    told = [windows_message(windows) for windows in folded(3)]
    decision = {"at": 1.0, "point": "concurrency", "before": 8, "after": 9, "reason": "probe"}
    child = spawn(
        STARTED,
        *told,
        {"type": "decisions", "decisions": [decision, decision | {"at": 2.0}]},
        {"type": "finished", "status": "finished", "summary": SUMMARY},
    )
    fate, frames = supervise(claimed, child, tmp_path)
    assert fate is Fate.REPORTED
    assert (claimed.status, claimed.verdict) == (Status.DONE, "pass")
    assert claimed.because == "Passes because it did."
    assert claimed.summary == SUMMARY
    assert claimed.ended_at is not None
    assert claimed.load_started_at is not None
    assert claimed.live["counts"]["outcomes"] == {"ok": 30}
    assert list(RunDecision.objects.values_list("n", "data__at")) == [(0, 1.0), (1, 2.0)]
    assert [frame["seq"] for frame in frames] == list(range(2, claimed.seq + 1))
    assert frames[-1]["run"]["status"] == "done"
    assert [d["n"] for frame in frames for d in frame["decisions"]] == [0, 1]


def test_a_window_that_is_revised_is_stored_once(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    told = folded(3)
    revised = [window for windows in told for window in windows]
    assert len({window.index for window in revised}) < len(revised)
    child = spawn(
        STARTED,
        *[windows_message(windows) for windows in told],
        {"type": "finished", "status": "finished", "summary": SUMMARY},
    )
    supervise(claimed, child, tmp_path)
    newest = {window.index: window for window in revised}
    stored = RunWindow.objects.filter(run=claimed)
    assert {row.index: row.data for row in stored} == {
        index: window.to_json() for index, window in newest.items()
    }


def test_a_worker_killed_from_outside_leaves_a_lost_run_at_once(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    child = spawn(STARTED, windows_message(folded(2)[0]), {"do": "die"})
    began = time.monotonic()
    fate, frames = supervise(claimed, child, tmp_path)
    assert time.monotonic() - began < 15
    assert fate is Fate.DIED
    assert claimed.status == Status.LOST
    assert claimed.reason == "The load-test worker was killed by signal 9 before it reported."
    assert RunWindow.objects.filter(run=claimed).count() == 1
    assert frames[-1]["verdict"]["word"] == "Lost"
    assert all(row[1] == 0 for frame in frames[-1:] for row in frame["cohorts"]["rows"])


def test_a_worker_that_exits_without_a_report_is_lost_with_its_code(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    fate, _ = supervise(claimed, spawn(STARTED, {"do": "exit", "status": 3}), tmp_path)
    assert fate is Fate.DIED
    assert claimed.reason == "The load-test worker ended with code 3 before it reported."


def test_a_worker_that_says_why_it_can_not_run_fails_the_run(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    child = spawn({"type": "error", "code": 22, "message": "target not allowed: 10.0.0.1"})
    fate, _ = supervise(claimed, child, tmp_path)
    assert fate is Fate.FAILED
    assert (claimed.status, claimed.reason) == (Status.FAILED, "target not allowed: 10.0.0.1")


def test_a_worker_that_fails_under_load_leaves_its_report(
    claimed: Run, spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "recovered", lambda _ledger: SUMMARY)
    child = spawn(STARTED, {"type": "error", "code": 30, "message": "no space left"})
    fate, _ = supervise(claimed, child, tmp_path)
    assert fate is Fate.FAILED
    assert (claimed.status, claimed.reason) == (Status.FAILED, "no space left")
    assert claimed.summary == SUMMARY


def test_a_worker_that_falls_silent_is_killed_and_lost(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    child = spawn({"do": "deaf"}, STARTED, {"do": "hang"})
    deadlines = Deadlines(poll=0.05, beat=0.2, silence=0.5)
    fate, _ = supervise(claimed, child, tmp_path, deadlines)
    assert fate is Fate.KILLED
    assert claimed.status == Status.LOST
    assert "it said nothing for 0.5 s" in claimed.reason
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_worker_that_never_starts_to_speak_is_killed(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    fate, _ = supervise(claimed, spawn({"do": "hang"}), tmp_path, Deadlines(start=0.4, poll=0.05))
    assert fate is Fate.KILLED
    assert "it said nothing for 0.4 s" in claimed.reason


def test_a_silent_worker_still_has_a_heart_beat(claimed: Run, spawn: Spawn, tmp_path: Path) -> None:
    child = spawn(
        STARTED,
        {"do": "sleep", "seconds": 1.0},
        {"type": "finished", "status": "finished", "summary": SUMMARY},
    )
    _, frames = supervise(claimed, child, tmp_path)
    assert len(frames) >= 4


def test_a_few_lines_of_garbage_do_no_harm(claimed: Run, spawn: Spawn, tmp_path: Path) -> None:
    child = spawn(
        {"do": "garbage"},
        STARTED,
        {"do": "garbage", "text": "[1, 2]"},
        {"type": "finished", "status": "finished", "summary": SUMMARY},
    )
    assert supervise(claimed, child, tmp_path)[0] is Fate.REPORTED
    assert claimed.status == Status.DONE


def test_a_worker_that_speaks_only_garbage_is_killed(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    child = spawn(*[{"do": "garbage", "text": "hello"}] * 20, {"do": "hang"})
    fate, _ = supervise(claimed, child, tmp_path, Deadlines(poll=0.05, garbage=10))
    assert fate is Fate.KILLED
    assert "it spoke another language: 'hello'" in claimed.reason


def test_a_cancel_reaches_the_worker_within_a_second(
    claimed: Run, spawn: Spawn, tmp_path: Path, actor: Actor
) -> None:
    child = spawn(STARTED, {"do": "sleep", "seconds": 60})
    clicked: list[float] = []

    def click() -> None:
        time.sleep(0.5)
        clicked.append(time.monotonic())
        services.cancel(actor=actor, run=Run.objects.get(pk=claimed.pk))
        connection.close()

    thread = threading.Thread(target=click)
    thread.start()
    fate, frames = supervise(claimed, child, tmp_path, Deadlines())
    took = time.monotonic() - clicked[0]
    thread.join()
    assert took < 5  # five times slack
    assert fate is Fate.REPORTED
    assert (claimed.status, claimed.reason) == (Status.CANCELLED, "Cancelled by ada.")
    assert frames[-1]["verdict"]["word"] == "Cancelled"


def test_a_worker_that_ignores_the_cancel_is_killed(
    claimed: Run, spawn: Spawn, tmp_path: Path, actor: Actor
) -> None:
    child = spawn({"do": "deaf"}, STARTED, {"do": "hang"})

    def click() -> None:
        run = Run.objects.get(pk=claimed.pk)
        if run.load_started_at and run.is_live:
            services.cancel(actor=actor, run=run)

    fate, _ = supervise(claimed, child, tmp_path, Deadlines(poll=0.05, cancel=0.3), click)
    assert fate is Fate.KILLED
    assert claimed.status == Status.CANCELLED
    assert claimed.reason.startswith("Cancelled by ada. The load-test worker was killed")
    assert "it did not stop within 0.3 s" in claimed.reason


def test_a_worker_cancelled_before_it_can_report_leaves_a_cancelled_run(
    claimed: Run, tmp_path: Path, actor: Actor
) -> None:
    services.cancel(actor=actor, run=claimed)
    argv = [sys.executable, "-c", "import time; time.sleep(60)"]
    child = Child(argv, environ={}, errors=tmp_path / "worker.log", cwd=tmp_path)
    fate, _ = supervise(claimed, child, tmp_path)
    assert fate is Fate.DIED
    assert claimed.status == Status.CANCELLED
    assert "killed by signal 15 before it reported" in claimed.reason


def test_a_worker_stopped_by_someone_else_is_cancelled_and_says_so(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    child = spawn(STARTED, {"do": "terminated"}, {"do": "sleep", "seconds": 60})
    supervise(claimed, child, tmp_path)
    assert claimed.status == Status.CANCELLED
    assert claimed.reason == "The worker was told to stop from outside."


def test_a_run_that_the_watchdog_gave_up_is_left_alone_and_its_worker_killed(
    claimed: Run, spawn: Spawn, tmp_path: Path
) -> None:
    child = spawn({"do": "deaf"}, STARTED, {"do": "hang"})
    Run.objects.filter(pk=claimed.pk).update(status=Status.LOST, reason="gone")
    fate, frames = supervise(claimed, child, tmp_path)
    assert (fate, frames) == (None, [])
    assert (claimed.status, claimed.reason) == (Status.LOST, "gone")
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_what_could_not_be_stored_is_stored_with_the_next_change(
    claimed: Run, spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, failures = (
        Ledger._commit,
        iter([None, OperationalError("away"), OperationalError("away")]),
    )

    def flaky(self: Ledger, values: dict[str, Any]) -> None:
        if error := next(failures, None):
            raise error
        commit(self, values)

    monkeypatch.setattr(Ledger, "_commit", flaky)
    told = folded(4)
    child = spawn(
        STARTED,
        *[windows_message(windows) for windows in told],
        {"type": "finished", "status": "finished", "summary": SUMMARY},
    )
    supervise(claimed, child, tmp_path)
    assert claimed.status == Status.DONE
    newest = {window.index: window.to_json() for windows in told for window in windows}
    assert dict(RunWindow.objects.values_list("index", "data")) == newest


def test_the_worker_sees_its_key_and_none_of_our_secrets(
    spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECRET_KEY", "HEADWAY_SEAL_KEY", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.setenv(name, "ours")
    told = tmp_path / "environ.json"
    child = spawn({"do": "tell", "path": str(told)}, environ=environment("sk-engine"))
    assert child.close() == 0
    seen = json.loads(told.read_text())
    assert seen["HEADWAY_API_KEY"] == "sk-engine"
    assert "ours" not in seen.values()
    assert "HEADWAY_API_KEY" not in environment("")


def test_a_worker_whose_parent_lets_go_of_its_input_stops_by_itself(spawn: Spawn) -> None:
    child = spawn(STARTED, {"do": "sleep", "seconds": 60})
    assert child.hear(30.0) == STARTED
    assert child.close(timeout=30.0) == 130  # killed at that deadline, it could not say so


def test_reading_tells_garbage_from_silence_and_from_the_end(spawn: Spawn) -> None:
    child = spawn({"do": "garbage", "text": "x"}, {"do": "sleep", "seconds": 2})
    with pytest.raises(Garbage):
        child.hear(30.0)
    assert child.hear(0.01) is None
    with pytest.raises(Ended):
        child.hear(30.0)
    with pytest.raises(Ended):
        child.hear(30.0)

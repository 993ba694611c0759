"""Run a claimed run: its files, its worker with the engine's key, its supervisor."""

from __future__ import annotations

import json
import logging

from django.conf import settings

from controlplane import egress
from controlplane.catalogue.services.endpoints import credential_of
from controlplane.runs import child
from controlplane.runs.ledger import Ledger, Superseded
from controlplane.runs.models import Run, Status
from controlplane.runs.storage import directory
from controlplane.runs.supervisor import Deadlines, Supervisor

log = logging.getLogger(__name__)

LONGEST_MODEL_S = 3_600.0
"""Waiting time that the engine model may take for one run."""


def execute(run: Run, *, deadlines: Deadlines | None = None) -> None:
    """From claimed to ended. Whatever goes wrong here ends the run too, with its reason."""
    out_dir = directory(run)
    out_dir.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(run, out_dir)
    try:
        worker = _spawn(run)
    except (OSError, RuntimeError) as error:
        log.exception("run %s: its worker did not start", run.pk)
        reason = f"The load-test worker did not start: {error}"
        ledger.finish(Status.FAILED, summary=None, reason=reason)
        return
    Supervisor(ledger, worker, budget=budget(run), deadlines=deadlines).run()


def _spawn(run: Run) -> child.Child:
    """The engine's key goes into the worker's environment and nowhere else; a model has none."""
    out_dir = directory(run)
    scenario = out_dir / "request.json"
    scenario.write_text(json.dumps(run.scenario))
    key = credential_of(run.endpoint).reveal() if run.endpoint else ""
    call = child.command(scenario, out_dir, allow=egress.rules().allow, workers=run.workers)
    return child.Child(
        [*call, "--profile", run.profile] if run.profile else call,
        environ=child.environment(key),
        errors=out_dir / "worker.log",
        cwd=settings.BASE_DIR,
    )


def give_up(run: Run, error: BaseException) -> None:
    """The supervisor itself has failed: keep what there is, and say so."""
    out_dir = directory(run)
    run.refresh_from_db()
    ledger = Ledger(run, out_dir)
    reason = f"The supervisor failed: {type(error).__name__}. Its log has the details."
    try:
        ledger.finish(Status.LOST, summary=ledger.recovered(), reason=reason)
    except Superseded:
        log.info("run %s: had ended by itself", run.pk)


def budget(run: Run) -> float:
    """Seconds that load and drain may take together; of real time, whatever a model's seconds."""
    if run.profile:
        return LONGEST_MODEL_S
    return float(run.scenario["duration_s"]) + float(run.scenario["drain_s"])

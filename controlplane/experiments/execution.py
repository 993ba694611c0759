"""Carry out a claimed experiment: its process and its supervisor."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from django.conf import settings

from controlplane.experiments.asking import DAY_HOURS
from controlplane.experiments.ledger import ExperimentLedger
from controlplane.experiments.models import Experiment, Status, Way
from controlplane.runs import child
from controlplane.runs.ledger import Superseded
from controlplane.runs.supervisor import Deadlines, Supervisor
from loadtest.reproduce.asked import CONFIGURATION

log = logging.getLogger(__name__)

LONGEST_S = 3_600.0
"""A play may take so much real time; its process says itself that it was too long."""
LONGEST_DAY_S = DAY_HOURS * 3_600.0
"""The same of one whose scale is told."""


def directory(experiment: Experiment) -> Path:
    """Its own directory, whether it is there yet or not."""
    return Path(settings.DATA_DIR) / "experiments" / str(experiment.pk)


def execute(experiment: Experiment, *, deadlines: Deadlines | None = None) -> None:
    """From claimed to ended. Whatever goes wrong here ends it too, with its reason."""
    out_dir = directory(experiment)
    out_dir.mkdir(parents=True, exist_ok=True)
    ledger = ExperimentLedger(experiment)
    argv = [sys.executable, "-m", "loadtest.reproduce.worker", "--system", experiment.system]
    longest = LONGEST_S if experiment.scale is None else LONGEST_DAY_S
    argv += ["--seeds", str(experiment.seeds), "--within", f"{longest:g}"]
    argv += [] if experiment.scale is None else ["--scale", repr(experiment.scale)]
    argv += ["--reduced"] if experiment.reduced else []
    argv += ["--served"] if experiment.way == Way.SERVED else []
    if experiment.configuration:
        path = out_dir / CONFIGURATION
        path.write_text(experiment.configuration, "utf-8")
        argv += ["--config", str(path), "--profile", experiment.profile]
    try:
        worker = child.Child(
            argv,
            environ=child.environment(""),
            errors=out_dir / "worker.log",
            cwd=settings.BASE_DIR,
        )
    except (OSError, RuntimeError) as error:
        log.exception("experiment %s: its process did not start", experiment.pk)
        ledger.finish(Status.FAILED, summary=None, reason=f"Its process did not start: {error}")
        return
    # What an experiment's ledger has is all that a supervisor asks of a run's.
    Supervisor(ledger, worker, budget=longest, deadlines=deadlines).run()  # type: ignore[arg-type]


def give_up(experiment: Experiment, error: BaseException) -> None:
    """The supervisor itself has failed: say so."""
    experiment.refresh_from_db()
    reason = f"The supervisor failed: {type(error).__name__}. Its log has the details."
    try:
        ExperimentLedger(experiment).finish(Status.LOST, summary=None, reason=reason)
    except Superseded:
        log.info("experiment %s: had ended by itself", experiment.pk)

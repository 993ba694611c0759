"""Carry out a claimed comparison: its files, its worker with the engines' keys, its supervisor."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from django.conf import settings

from controlplane import egress
from controlplane.catalogue.services.endpoints import credential_of
from controlplane.comparisons.ledger import ComparisonLedger
from controlplane.comparisons.models import Comparison, Status
from controlplane.comparisons.supervisor import ComparisonSupervisor
from controlplane.runs import child
from controlplane.runs.ledger import Superseded
from controlplane.runs.supervisor import Deadlines
from loadtest.ab.worker import KEYS

log = logging.getLogger(__name__)

LONGEST_MODEL_S = 3_600.0
"""Waiting time that the engine model may take, however many blocks."""


def directory(comparison: Comparison) -> Path:
    """Its own directory, whether it is there yet or not."""
    return Path(settings.DATA_DIR) / "comparisons" / str(comparison.pk)


def execute(comparison: Comparison, *, deadlines: Deadlines | None = None) -> None:
    """From claimed to ended. Whatever goes wrong here ends it too, with its reason."""
    out_dir = directory(comparison)
    out_dir.mkdir(parents=True, exist_ok=True)
    ledger = ComparisonLedger(comparison, out_dir)
    try:
        worker = _spawn(comparison, out_dir)
    except (OSError, RuntimeError) as error:
        log.exception("comparison %s: its worker did not start", comparison.pk)
        reason = f"The load-test worker did not start: {error}"
        ledger.finish(Status.FAILED, summary=None, reason=reason)
        return
    ComparisonSupervisor(ledger, worker, budget=budget(comparison), deadlines=deadlines).run()


def _spawn(comparison: Comparison, out_dir: Path) -> child.Child:
    """The engines' keys go into the worker's environment and nowhere else."""
    order = out_dir / "request.json"
    order.write_text(json.dumps(comparison.request))
    argv = [sys.executable, "-m", "loadtest.ab.worker", "--order", str(order)]
    argv += ["--out", str(out_dir)]
    argv += [word for network in egress.rules().allow for word in ("--allow", str(network))]
    environ = child.environment("")
    for name, endpoint in zip(KEYS, comparison.endpoints, strict=False):
        if key := credential_of(endpoint).reveal():
            environ[name] = key
    return child.Child(argv, environ=environ, errors=out_dir / "worker.log", cwd=settings.BASE_DIR)


def give_up(comparison: Comparison, error: BaseException) -> None:
    """The supervisor itself has failed: keep what there is, and say so."""
    comparison.refresh_from_db()
    ledger = ComparisonLedger(comparison, directory(comparison))
    reason = f"The supervisor failed: {type(error).__name__}. Its log has the details."
    try:
        ledger.finish(Status.LOST, summary=ledger.recovered(), reason=reason)
    except Superseded:
        log.info("comparison %s: had ended by itself", comparison.pk)


def budget(comparison: Comparison) -> float:
    """Seconds that load and drain may take together."""
    if comparison.where == Comparison.Where.MODEL:
        return LONGEST_MODEL_S
    return comparison.duration_s + float(comparison.request["load"]["drain_s"])

"""Run a claimed run: its files, its worker with the engine's key, its supervisor."""

from __future__ import annotations

import json
import logging
import secrets

from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from controlplane import egress, queue
from controlplane.catalogue.services.endpoints import credential_of
from controlplane.runs import child
from controlplane.runs.ledger import Ledger, Superseded
from controlplane.runs.machines import lease
from controlplane.runs.machines.choosing import TooFewMachines, chosen
from controlplane.runs.machines.wire import Keys
from controlplane.runs.models import Run, Status
from controlplane.runs.storage import directory
from controlplane.runs.supervisor import Deadlines, Supervisor

log = logging.getLogger(__name__)

ANSWER_WITHIN = 2.0
"""Seconds that workers have to say that they are there, before a run by several machines."""
LEAD = "controlplane.runs.machines.lead"
"""The module of the process that leads several machines."""
LONGEST_MODEL_S = 3_600.0
"""Waiting time that the engine model may take for one run."""


def execute(run: Run, *, node: str = "", deadlines: Deadlines | None = None) -> None:
    """From claimed to ended, by the Celery worker ``node``.

    Whatever goes wrong here ends the run too, with its reason.
    """
    out_dir = directory(run)
    out_dir.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(run, out_dir)
    try:
        worker = _spawn(run) if run.machines == 1 else _spawn_lead(run, node)
    except TooFewMachines as refusal:
        ledger.finish(Status.FAILED, summary=None, reason=str(refusal))
        return
    except (OSError, RuntimeError, OperationalError, RedisError) as error:
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
    call = child.command(scenario, out_dir, allow=egress.rules().allow)
    call += ["--workers", str(run.workers)]
    return child.Child(
        [*call, "--profile", run.profile] if run.profile else call,
        environ=child.environment(key),
        errors=out_dir / "worker.log",
        cwd=settings.BASE_DIR,
    )


def _spawn_lead(run: Run, node: str) -> child.Child:
    """The process that leads several machines, once as many have answered and were asked.

    It gets no key, for it sends nothing; where the machines are met it does get. TooFewMachines.
    """
    if settings.REDIS_URL.startswith("memory:"):
        raise TooFewMachines(
            "Several machines need Redis or Valkey as REDIS_URL. No request was sent."
        )
    answered = queue.answering(ANSWER_WITHIN)
    nodes = chosen(answered, run.machines, own=node, within=ANSWER_WITHIN)
    out_dir, token = directory(run), secrets.token_hex(8)
    scenario = out_dir / "request.json"
    scenario.write_text(json.dumps(run.scenario))
    lease.take(lease.connected(settings.REDIS_URL), Keys(token))
    for number, one in enumerate(nodes):
        args = (str(run.pk), token, number, len(nodes))
        queue.hand("runs.carry_slice", *args, node=one)  # its claim needs our lease
    call = child.command(scenario, out_dir, allow=egress.rules().allow, module=LEAD)
    call += ["--token", token, *(word for one in nodes for word in ("--node", one))]
    return child.Child(
        call,
        environ={**child.environment(""), "REDIS_URL": settings.REDIS_URL},
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

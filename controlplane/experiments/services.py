"""What people and tokens do to experiments, and how a worker takes one."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.audit import services as audit
from controlplane.experiments.asking import Ask
from controlplane.experiments.models import Experiment, Status, Way
from controlplane.queue import enqueue
from controlplane.runs.services import UNCLAIMED, AlreadyEnded, StillLive
from controlplane.teams.rights import Actor, Right, require

__all__ = ["AlreadyEnded", "StillLive", "again", "cancel", "claim", "start"]

log = logging.getLogger(__name__)

TASK = "experiments.execute"


def start(*, actor: Actor, ask: Ask, again_of: Experiment | None = None) -> Experiment:
    """Store a play and hand it to a worker."""
    require(actor, Right.RUNS_WRITE, to="start_experiment", kind="experiment", name=ask.system)
    with transaction.atomic():
        experiment = Experiment.objects.create(
            team=actor.team,
            system=ask.system,
            seeds=ask.seeds,
            reduced=ask.reduced,
            way=ask.way,
            configuration=ask.text,
            profile=ask.engine,
            scale=ask.scale,
            again_of=again_of,
            created_by=actor.user,
            by=actor.name,
        )
        _note(experiment, actor.name, "start_experiment")
        enqueue(TASK, str(experiment.pk))
    return experiment


def again(*, actor: Actor, experiment: Experiment) -> Experiment:
    """The same play once more, linked to the first; StillLive while that goes on."""
    if experiment.is_live:
        raise StillLive("This experiment has not ended; cancel it first.")
    first = experiment.again_of or experiment
    return start(actor=actor, ask=Ask.of(experiment), again_of=first)


def cancel(*, actor: Actor, experiment: Experiment) -> Experiment:
    """Stop one: a queued one at once, a running one by its worker. AlreadyEnded if it is over."""
    name = str(experiment)
    require(actor, Right.RUNS_WRITE, to="cancel_experiment", kind="experiment", name=name)
    return _stop(experiment, by=actor.name, reason=f"Cancelled by {actor.name}.")


def stop_all(*, by: str, reason: str) -> list[Experiment]:
    """Stop every live one of every team, since what supervises them is about to end."""
    return [_stop(one, by=by, reason=reason) for one in Experiment.objects.live()]


def any_live() -> bool:
    """Whether one has not ended."""
    return Experiment.objects.live().exists()


def _stop(experiment: Experiment, *, by: str, reason: str) -> Experiment:
    with transaction.atomic():
        stopped = Experiment.objects.move(
            experiment.pk,
            to=Status.CANCELLED,
            only_from=frozenset({Status.QUEUED}),
            reason=reason[:500],
            ended_at=timezone.now(),
        )
        told = stopped or Experiment.objects.move(
            experiment.pk,
            to=Status.CANCELLING,
            only_from=frozenset({Status.RUNNING}),
            reason=reason[:500],
        )
        experiment.refresh_from_db()
        if not told and experiment.status != Status.CANCELLING:
            ended = experiment.get_status_display().lower()
            raise AlreadyEnded(f"This experiment has already ended: {ended}.")
        if told:
            _note(experiment, by, "cancel_experiment")
    return experiment


def claim(pk: object) -> Experiment | None:
    """Take a queued one; None when another worker has it or it was cancelled."""
    now = timezone.now()
    taken = Experiment.objects.move(
        pk,
        to=Status.RUNNING,
        only_from=frozenset({Status.QUEUED}),
        started_at=now,
        heartbeat_at=now,
        reason="",
    )
    if not taken:
        log.info("experiment %s: not queued any more, left alone", pk)
        return None
    return Experiment.objects.get(pk=pk)


def remind(experiment: Experiment, *, before: datetime) -> bool:
    """Say on a queued one that nobody takes it, and send it again: claiming makes that safe."""
    with transaction.atomic():
        waiting = Experiment.objects.unclaimed(before=before).filter(pk=experiment.pk)
        reason = UNCLAIMED.replace("this run", "this experiment")
        if not waiting.update(reason=reason, heartbeat_at=timezone.now(), seq=F("seq") + 1):
            return False
        enqueue(TASK, str(experiment.pk))
    experiment.refresh_from_db()
    return True


def _note(experiment: Experiment, by: str, verb: str) -> None:
    way = "" if experiment.way == Way.VIRTUAL else f", {experiment.way}"
    reduced = ", reduced" if experiment.reduced else ""
    scale = "" if experiment.scale is None else f", scale {experiment.scale:g}"
    audit.record(
        team_id=experiment.team_id,
        actor=by,
        verb=verb,
        kind="experiment",
        object_id=experiment.pk,
        name=f"{experiment.system}, {experiment.seeds} seeds{way}{reduced}{scale}",
        detail={},
    )

"""What people and tokens can do to runs, and how a worker takes one."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane import egress
from controlplane.audit import services as audit
from controlplane.queue import enqueue
from controlplane.runs import live, stored
from controlplane.runs.launch import Again, Launch
from controlplane.runs.models import Run, Status
from controlplane.teams.rights import Actor, Right, require

log = logging.getLogger(__name__)

UNCLAIMED = "No worker has taken this run yet; is one running, and free?"


class AlreadyEnded(Exception):  # noqa: N818 - a state of the run, told to a person
    """There is nothing left to stop."""


class StillLive(Exception):  # noqa: N818 - a state of the run, told to a person
    """A run that has not ended can't be started again."""


def start(*, actor: Actor, launch: Launch, retry_of: Run | None = None) -> Run:
    """Store a run and hand it to a worker; DocumentError when its scenario can't be run."""
    verb = "retry_run" if retry_of else "start_run"
    require(actor, Right.RUNS_WRITE, to=verb, kind="run", name=launch.target)
    scenario = launch.scenario()
    if not launch.profile:  # the model calls nobody
        egress.check(scenario.endpoint.base_url, path="endpoint")
    document, sha256 = scenario.to_document(), scenario.sha256
    with transaction.atomic():
        run = Run.objects.create(
            team=actor.team,
            endpoint=launch.endpoint,
            profile=launch.profile,
            policy_version=launch.policy_version,
            slo_version=launch.slo_version,
            workload=launch.workload,
            shadow_version=launch.shadow_version,
            retry_of=retry_of,
            scenario=document,
            scenario_sha256=sha256,
            seed=scenario.seed,
            workers=launch.workers,
            machines=launch.machines,
            created_by=actor.user,
        )
        _note(actor.team.pk, actor.name, verb, run, scenario_sha256=sha256)
        enqueue("runs.execute", str(run.pk))
    return run


def retry(*, actor: Actor, run: Run) -> Run:
    """A new run of the very scenario that was stored, linked to the one that ended.

    Never the same run twice. DocumentError where its endpoint would not take it any more.
    """
    if run.is_live:
        raise StillLive("This run has not ended; cancel it first.")
    launch = Again(
        endpoint=run.endpoint,
        policy_version=run.policy_version,
        workload=run.workload,
        slo_version=run.slo_version,
        shadow_version=run.shadow_version,
        rest={"workers": run.workers, "machines": run.machines},
        stored=run.scenario,
        profile=run.profile,
    )
    return start(actor=actor, launch=launch, retry_of=run)


def cancel(*, actor: Actor, run: Run) -> Run:
    """Stop a run: a queued one at once, a running one by its worker. AlreadyEnded if it is over."""
    require(actor, Right.RUNS_WRITE, to="cancel_run", kind="run", name=str(run))
    return _stop(run, by=actor.name, reason=f"Cancelled by {actor.name}.")


def stop_all(*, by: str, reason: str) -> list[Run]:
    """Stop every live run of every team, since what supervises them is about to end."""
    return [_stop(run, by=by, reason=reason) for run in Run.objects.live()]


def any_live() -> bool:
    """Whether one has not ended."""
    return Run.objects.live().exists()


def _stop(run: Run, *, by: str, reason: str) -> Run:
    with transaction.atomic():
        stopped = Run.objects.move(
            run.pk,
            to=Status.CANCELLED,
            only_from=frozenset({Status.QUEUED}),
            reason=reason,
            ended_at=timezone.now(),
        )
        told = stopped or Run.objects.move(
            run.pk,
            to=Status.CANCELLING,
            only_from=frozenset({Status.RUNNING}),
            reason=reason,
        )
        run.refresh_from_db()
        if not told and run.status != Status.CANCELLING:
            raise AlreadyEnded(f"This run has already ended: {run.get_status_display().lower()}.")
        if told:
            _note(run.team_id, by, "cancel_run", run)
    if told:
        announce(run)
    return run


def claim(run_id: object) -> Run | None:
    """Take a queued run; None when another worker has it or it was cancelled."""
    now = timezone.now()
    taken = Run.objects.move(
        run_id,
        to=Status.RUNNING,
        only_from=frozenset({Status.QUEUED}),
        started_at=now,
        heartbeat_at=now,
        reason="",
    )
    if not taken:
        log.info("run %s: not queued any more, left alone", run_id)
        return None
    run = Run.objects.get(pk=run_id)
    announce(run)
    return run


def announce(run: Run) -> None:
    """Tell viewers of a change that no supervisor made."""
    live.publish(run, stored.backfill(run, since=run.seq - 1))


def remind(run: Run, *, before: datetime) -> bool:
    """Say on a queued run that nobody takes it, and send it again: claiming makes that safe."""
    with transaction.atomic():
        waiting = Run.objects.unclaimed(before=before).filter(pk=run.pk)
        now = timezone.now()
        if not waiting.update(reason=UNCLAIMED, heartbeat_at=now, seq=F("seq") + 1):
            return False
        enqueue("runs.execute", str(run.pk))
    run.refresh_from_db()
    announce(run)
    return True


def _note(team_id: object, actor: str, verb: str, run: Run, **detail: str) -> None:
    audit.record(
        team_id=team_id,
        actor=actor,
        verb=verb,
        kind="run",
        object_id=run.pk,
        name=f"{run.policy_version.line} {run.policy_version} on {run.target_name}",
        detail=detail,
    )

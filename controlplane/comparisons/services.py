"""What people, tokens and rollouts do to comparisons, and how a worker takes one."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane import egress
from controlplane.audit import services as audit
from controlplane.comparisons import live
from controlplane.comparisons.asking import Ask
from controlplane.comparisons.models import Comparison, Status
from controlplane.queue import enqueue
from controlplane.runs.services import UNCLAIMED, AlreadyEnded
from controlplane.teams.models import Team
from controlplane.teams.rights import Actor, Right, require
from loadtest.ab.draft import power_of

__all__ = ["AlreadyEnded", "Ask", "cancel", "cancel_by_system", "claim", "start", "start_for"]

log = logging.getLogger(__name__)

TASK = "comparisons.execute"


def start(*, actor: Actor, ask: Ask) -> Comparison:
    """Store a comparison and hand it to a worker; DocumentError when it can't be carried out."""
    name = ask.candidate.line.name
    require(actor, Right.RUNS_WRITE, to="start_comparison", kind="comparison", name=name)
    return _start(actor.team, ask, by=actor.name, created_by=actor.user)


def start_for(*, team: Team, by: str, ask: Ask) -> Comparison:
    """The same for a system actor, such as a rollout; ``by`` is what the audit log writes."""
    return _start(team, ask, by=by, created_by=None)


def _start(team: Team, ask: Ask, *, by: str, created_by: Any) -> Comparison:
    order = ask.order(team)
    for place, endpoint in enumerate(order.endpoints):
        egress.check(endpoint.base_url, path=f"endpoints.{place}")
    power = [one.to_json() for one in power_of(order.plan)]
    first, second = (*ask.endpoints, None, None)[:2]
    with transaction.atomic():
        comparison = Comparison.objects.create(
            team=team,
            baseline_version=ask.baseline,
            candidate_version=ask.candidate,
            slo_version=ask.slo_version,
            workload=ask.workload,
            where=order.where,
            endpoint=first,
            second_endpoint=second,
            plan=order.plan.to_document(),
            plan_sha256=order.plan.sha256,
            request=order.to_document(),
            power=power,
            created_by=created_by,
            by=by,
        )
        _note(comparison, by, "start_comparison", plan_sha256=order.plan.sha256)
        enqueue(TASK, str(comparison.pk))
    return comparison


def cancel(*, actor: Actor, comparison: Comparison) -> Comparison:
    """Stop one: a queued one at once, a running one by its worker. AlreadyEnded if it is over."""
    require(
        actor, Right.RUNS_WRITE, to="cancel_comparison", kind="comparison", name=str(comparison)
    )
    return _stop(comparison, by=actor.name, reason=f"Cancelled by {actor.name}.")


def cancel_by_system(*, by: str, comparison: Comparison, reason: str) -> Comparison:
    """The same for a system actor. AlreadyEnded if it is over."""
    return _stop(comparison, by=by, reason=reason)


def stop_all(*, by: str, reason: str) -> list[Comparison]:
    """Stop every live one of every team, since what supervises them is about to end."""
    return [_stop(one, by=by, reason=reason) for one in Comparison.objects.live()]


def any_live() -> bool:
    """Whether one has not ended."""
    return Comparison.objects.live().exists()


def _stop(comparison: Comparison, *, by: str, reason: str) -> Comparison:
    with transaction.atomic():
        stopped = Comparison.objects.move(
            comparison.pk,
            to=Status.CANCELLED,
            only_from=frozenset({Status.QUEUED}),
            reason=reason[:500],
            ended_at=timezone.now(),
        )
        told = stopped or Comparison.objects.move(
            comparison.pk,
            to=Status.CANCELLING,
            only_from=frozenset({Status.RUNNING}),
            reason=reason[:500],
        )
        comparison.refresh_from_db()
        if not told and comparison.status != Status.CANCELLING:
            ended = comparison.get_status_display().lower()
            raise AlreadyEnded(f"This comparison has already ended: {ended}.")
        if told:
            _note(comparison, by, "cancel_comparison", reason=reason)
    if told:
        live.announce(comparison)
    return comparison


def claim(pk: object) -> Comparison | None:
    """Take a queued one; None when another worker has it or it was cancelled."""
    now = timezone.now()
    taken = Comparison.objects.move(
        pk,
        to=Status.RUNNING,
        only_from=frozenset({Status.QUEUED}),
        started_at=now,
        heartbeat_at=now,
        reason="",
    )
    if not taken:
        log.info("comparison %s: not queued any more, left alone", pk)
        return None
    comparison = Comparison.objects.get(pk=pk)
    live.announce(comparison)
    return comparison


def remind(comparison: Comparison, *, before: datetime) -> bool:
    """Say on a queued one that nobody takes it, and send it again: claiming makes that safe."""
    with transaction.atomic():
        waiting = Comparison.objects.unclaimed(before=before).filter(pk=comparison.pk)
        now = timezone.now()
        reason = UNCLAIMED.replace("this run", "this comparison")
        if not waiting.update(reason=reason, heartbeat_at=now, seq=F("seq") + 1):
            return False
        enqueue(TASK, str(comparison.pk))
    comparison.refresh_from_db()
    live.announce(comparison)
    return True


def _note(comparison: Comparison, by: str, verb: str, **detail: str) -> None:
    audit.record(
        team_id=comparison.team_id,
        actor=by,
        verb=verb,
        kind="comparison",
        object_id=comparison.pk,
        name=comparison.name,
        detail=detail,
    )

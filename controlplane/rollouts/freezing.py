"""Times in which nothing is promoted: who may set them, and how."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from controlplane.audit import services as audit
from controlplane.rollouts.models import FreezeWindow
from controlplane.teams.rights import Actor, Right, require
from documents.problem import DocumentError, Problem

LONGEST = timedelta(days=31)


def freeze(*, actor: Actor, starts_at: datetime, ends_at: datetime, reason: str) -> FreezeWindow:
    """No rollout of the team is promoted from ``starts_at`` to ``ends_at``; rollbacks go on."""
    require(actor, Right.APPROVE, to="freeze_rollouts", kind="freeze_window")
    problems = []
    if ends_at <= max(starts_at, timezone.now()):
        problems.append(Problem("ends_at", str(ends_at), "must be after the start, and not past"))
    if ends_at - starts_at > LONGEST:
        problems.append(Problem("ends_at", str(ends_at), f"must be within {LONGEST.days} days"))
    if not reason.strip() or len(reason) > 200:
        problems.append(Problem("reason", reason, "say why, in at most 200 characters"))
    if problems:
        raise DocumentError(problems)
    with transaction.atomic():
        window = FreezeWindow.objects.create(
            team=actor.team,
            starts_at=starts_at,
            ends_at=ends_at,
            reason=reason.strip(),
            created_by=actor.user,
        )
        _note(actor, "freeze_rollouts", window)
    return window


def thaw(*, actor: Actor, window: FreezeWindow) -> None:
    """Take a freeze window away."""
    require(actor, Right.APPROVE, to="thaw_rollouts", kind="freeze_window", name=str(window))
    with transaction.atomic():
        _note(actor, "thaw_rollouts", window)
        window.delete()


def _note(actor: Actor, verb: str, window: FreezeWindow) -> None:
    audit.record(
        team_id=actor.team.pk,
        actor=actor.name,
        verb=verb,
        kind="freeze_window",
        object_id=window.pk,
        name=str(window),
        detail={"reason": window.reason},
    )

"""What the navigation shows to who may approve: how many stages wait for their word."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone

from controlplane.rollouts import approving
from controlplane.rollouts.machine import Phase
from controlplane.rollouts.models import Rollout
from controlplane.teams.rights import Actor, Right


def approvals(request: HttpRequest) -> dict[str, int]:
    """A context processor; nobody but an approver costs a query."""
    actor: Actor | None = getattr(request, "actor", None)
    if actor is None or not actor.may(Right.APPROVE):
        return {}
    return {"approvals_waiting": waiting_for(actor)}


def waiting_for(actor: Actor) -> int:
    """Rollouts of the team whose stage waits for this very person, among others."""
    rows = Rollout.objects.for_team(actor.team).filter(phase=Phase.WAITING).with_names()
    return sum(_asks(rollout, actor) for rollout in rows)


def _asks(rollout: Rollout, actor: Actor) -> bool:
    needed = rollout.standing.needed[rollout.stage]
    if not needed or actor.user.pk in approving.excluded(rollout):
        return False
    if not approving.approves(actor.role, approving.role_needed(rollout)):
        return False
    given = [one.user_id for one in approving.holding(rollout, timezone.now())]
    return len(given) < needed and actor.user.pk not in given

"""Experiments whose supervisor is gone become lost."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F
from django.utils import timezone

from controlplane.experiments import services
from controlplane.experiments.models import Experiment, Status
from controlplane.runs.models import ACTIVE
from controlplane.runs.watchdog import REASON, STALE_AFTER, UNCLAIMED_AFTER, Swept


def sweep(now: datetime) -> Swept:
    """One pass over every team's experiments."""
    unsent = now - UNCLAIMED_AFTER
    stale = Experiment.objects.stale(before=now - STALE_AFTER)
    waiting = Experiment.objects.unclaimed(before=unsent)
    return Swept(
        lost=sum(lose(one, now) for one in stale),
        unclaimed=sum(services.remind(one, before=unsent) for one in waiting),
    )


def check(experiment: Experiment) -> Experiment:
    """The same for one that is being looked at, so that no page shows a dead one as live."""
    now = timezone.now()
    beat = experiment.heartbeat_at
    if experiment.status in ACTIVE and beat is not None and beat < now - STALE_AFTER:
        lose(experiment, now)
    elif experiment.status == Status.QUEUED:
        services.remind(experiment, before=now - UNCLAIMED_AFTER)
    return experiment


def lose(experiment: Experiment, now: datetime) -> bool:
    """Move it to lost unless it beats again meanwhile."""
    silence = (now - (experiment.heartbeat_at or now)).total_seconds()
    stale = Experiment.objects.stale(before=now - STALE_AFTER).filter(pk=experiment.pk)
    reason = REASON.format(seconds=silence)
    moved = stale.update(status=Status.LOST, reason=reason, ended_at=now, seq=F("seq") + 1)
    if moved:
        experiment.refresh_from_db()
    return bool(moved)

"""Runs whose supervisor is gone become lost, with everything that they had measured."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.runs import services, stored
from controlplane.runs.ledger import ending, recovered
from controlplane.runs.models import ACTIVE, Run, Status
from controlplane.runs.storage import directory

log = logging.getLogger(__name__)

STALE_AFTER = timedelta(seconds=8)
UNCLAIMED_AFTER = timedelta(seconds=60)
REASON = "Its supervisor has not been heard of for {seconds:.0f} s; the worker stopped with it."


@dataclass(frozen=True, slots=True)
class Swept:
    """What a pass has found."""

    lost: int
    unclaimed: int


def sweep(now: datetime | None = None) -> Swept:
    """One pass over every team's runs."""
    now = now or timezone.now()
    stale = Run.objects.stale(before=now - STALE_AFTER)
    unsent = now - UNCLAIMED_AFTER
    waiting = Run.objects.unclaimed(before=unsent)
    return Swept(
        lost=sum(lose(run, now) for run in stale),
        unclaimed=sum(services.remind(run, before=unsent) for run in waiting),
    )


def check(run: Run) -> Run:
    """The same for one run that is being looked at, so that no page shows a dead run as live."""
    now = timezone.now()
    beat = run.heartbeat_at
    if run.status in ACTIVE and beat is not None and beat < now - STALE_AFTER:
        lose(run, now)
    elif run.status == Status.QUEUED and (beat or run.created_at) < now - UNCLAIMED_AFTER:
        services.remind(run, before=now - UNCLAIMED_AFTER)
    return run


def lose(run: Run, now: datetime) -> bool:
    """Move a run to lost unless it beats again meanwhile; its report is kept."""
    summary = recovered(directory(run))
    silence = (now - (run.heartbeat_at or now)).total_seconds()
    reason = REASON.format(seconds=silence)
    with transaction.atomic():
        stale = Run.objects.stale(before=now - STALE_AFTER).filter(pk=run.pk)
        moved = stale.update(
            status=Status.LOST, reason=reason, ended_at=now, seq=F("seq") + 1, **ending(summary)
        )
        if moved:
            run.refresh_from_db()
            stored.close_rows(run)
    if moved:
        log.warning("run %s is lost: %s", run.pk, reason)
        services.announce(run)
    return bool(moved)

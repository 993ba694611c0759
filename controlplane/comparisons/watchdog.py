"""Comparisons whose supervisor is gone become lost, with the blocks that they had closed."""

from __future__ import annotations

import json
import logging
from datetime import datetime

from django.db.models import F
from django.utils import timezone

from controlplane.comparisons import live, services
from controlplane.comparisons.execution import directory
from controlplane.comparisons.ledger import ending
from controlplane.comparisons.models import Comparison, Status
from controlplane.runs.models import ACTIVE
from controlplane.runs.watchdog import REASON, STALE_AFTER, UNCLAIMED_AFTER, Swept
from loadtest.ab.execution import RESULT

log = logging.getLogger(__name__)


def sweep(now: datetime | None = None) -> Swept:
    """One pass over every team's comparisons."""
    now = now or timezone.now()
    unsent = now - UNCLAIMED_AFTER
    stale = Comparison.objects.stale(before=now - STALE_AFTER)
    waiting = Comparison.objects.unclaimed(before=unsent)
    return Swept(
        lost=sum(lose(one, now) for one in stale),
        unclaimed=sum(services.remind(one, before=unsent) for one in waiting),
    )


def check(comparison: Comparison) -> Comparison:
    """The same for one that is being looked at, so that no page shows a dead one as live."""
    now = timezone.now()
    beat = comparison.heartbeat_at
    if comparison.status in ACTIVE and beat is not None and beat < now - STALE_AFTER:
        lose(comparison, now)
    elif (
        comparison.status == Status.QUEUED
        and (beat or comparison.created_at) < now - UNCLAIMED_AFTER
    ):
        services.remind(comparison, before=now - UNCLAIMED_AFTER)
    return comparison


def lose(comparison: Comparison, now: datetime) -> bool:
    """Move it to lost unless it beats again meanwhile; its blocks are kept."""
    silence = (now - (comparison.heartbeat_at or now)).total_seconds()
    reason = REASON.format(seconds=silence)
    stale = Comparison.objects.stale(before=now - STALE_AFTER).filter(pk=comparison.pk)
    moved = stale.update(
        status=Status.LOST,
        reason=reason,
        ended_at=now,
        seq=F("seq") + 1,
        **ending(Status.LOST, _left(comparison)),
    )
    if moved:
        log.warning("comparison %s is lost: %s", comparison.pk, reason)
        comparison.refresh_from_db()
        live.announce(comparison)
    return bool(moved)


def _left(comparison: Comparison) -> dict[str, object] | None:
    try:
        found = json.loads((directory(comparison) / RESULT).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None

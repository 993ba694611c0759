"""One pass of the watchdog over rollouts: what is due is done, and whoever looks is told."""

from __future__ import annotations

from datetime import datetime

from controlplane.rollouts import live
from controlplane.rollouts.advancing import tick


def once(now: datetime) -> int:
    """How many rollouts have moved."""
    moved = tick(now)
    for rollout in live.watched(now):
        if rollout.is_live or rollout.phase_since > rollout.watched_at - live.WATCHED_FOR:
            live.tell(rollout, now)
    return moved

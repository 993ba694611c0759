"""Tell whoever watches a rollout. Frames are made for viewers alone: nobody there, no work."""

from __future__ import annotations

from datetime import datetime, timedelta

from controlplane.rollouts import frames
from controlplane.rollouts.models import Rollout
from controlplane.runs.live import publish

WATCHED_FOR = timedelta(seconds=40)
"""A viewer's connection says that it is there more often than this."""


def tell(rollout: Rollout, now: datetime) -> None:
    """One frame to every viewer, if there is one."""
    if rollout.watched_at is not None and now - rollout.watched_at < WATCHED_FOR:
        publish(rollout, frames.build(rollout, now))


def watched(now: datetime) -> list[Rollout]:
    """Rollouts that somebody looks at now."""
    return list(Rollout.objects.with_names().filter(watched_at__gt=now - WATCHED_FOR))

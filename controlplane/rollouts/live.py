"""Tell whoever watches a rollout. Frames are made for viewers alone: nobody there, no work."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from controlplane.rollouts import frames
from controlplane.rollouts.models import Rollout
from controlplane.runs.live import send

WATCHED_FOR = timedelta(seconds=40)
"""A viewer's connection says that it is there more often than this."""


def tell(rollout_id: object, now: datetime) -> None:
    """One frame to every viewer."""
    rollout = Rollout.objects.with_names().get(pk=rollout_id)
    if rollout.watched_at is None or now - rollout.watched_at > WATCHED_FOR:
        return
    frame = frames.build(rollout, now)
    message = {
        "type": "run.frame",
        "seq": frame["seq"],
        "mark": f"{rollout.phase} {rollout.stage}",
        "text": json.dumps(frame, separators=(",", ":"), allow_nan=False),
    }
    send(rollout.pk, message)

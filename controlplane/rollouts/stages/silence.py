"""When a gateway's silence counts: never before it could have spoken."""

from __future__ import annotations

from datetime import datetime, timedelta

from controlplane.gateways import reading
from controlplane.rollouts.models import Rollout, StageRun

AWAY = timedelta(seconds=20)
"""Nobody has looked for so long: it was this side that was away, and what a gateway has buffered
gets time to arrive."""
LEAST = timedelta(seconds=10)
SLOTS = 3


def patience(slot_s: float = 0.0) -> timedelta:
    """How long a gateway may be silent: three slots, and never under ten seconds."""
    return max(LEAST, timedelta(seconds=SLOTS * slot_s))


def silent(rollout: Rollout, run: StageRun, now: datetime, slot_s: float = 0.0) -> bool:
    """Whether its telemetry is stale. After an outage of ours, silence counts from our return."""
    heard = reading.last_heard(rollout.gateway)
    since = [at for at in (heard, run.entered_at, run.awake_since) if at is not None]
    return now - max(since) > patience(slot_s)


def catching_up(rollout: Rollout, run: StageRun, now: datetime, slot_s: float = 0.0) -> bool:
    """Whether we are just back, and what the gateway buffered has not arrived yet."""
    if run.awake_since is None or now - run.awake_since > patience(slot_s):
        return False
    heard = reading.last_heard(rollout.gateway)
    return heard is None or heard < run.awake_since

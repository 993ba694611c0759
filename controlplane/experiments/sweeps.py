"""What is looked at every few seconds."""

from __future__ import annotations

from datetime import datetime

from controlplane import sweeping
from controlplane.experiments.watchdog import sweep


def look(now: datetime) -> str:
    """Experiments whose supervisor is gone, and experiments that no worker takes."""
    swept = sweep(now)
    return f"{swept.lost} lost, {swept.unclaimed} waiting for a worker"


sweeping.add("experiments", look)

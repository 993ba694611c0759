"""What is looked at every few seconds."""

from __future__ import annotations

from datetime import datetime

from controlplane import sweeping
from controlplane.rollouts.advancing import tick


def look(now: datetime) -> str:
    """Live rollouts: what time and evidence do to them."""
    return f"{tick(now)} moved"


sweeping.add("rollouts", look)

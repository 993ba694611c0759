"""What is looked at every few seconds."""

from __future__ import annotations

from datetime import datetime

from controlplane import sweeping
from controlplane.rollouts import passing


def look(now: datetime) -> str:
    """Live rollouts: what time and evidence do to them."""
    return f"{passing.once(now)} moved"


sweeping.add("rollouts", look)

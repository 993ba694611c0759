"""What a stage's runner answers, and what all of them share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from controlplane.rollouts.machine import Finding
from controlplane.rollouts.models import Rollout, StageRun
from controlplane.rollouts.stage_documents import Stage, deadline_s


@dataclass(frozen=True, slots=True)
class Found:
    """What one look says. ``seen`` counts what it rests on: the same again is no news."""

    finding: Finding
    because: str
    seen: int
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Runner(Protocol):
    """One kind of stage."""

    def enter(self, rollout: Rollout, run: StageRun, now: datetime) -> None:
        """Begin; in the step's transaction. DocumentError when it can't be."""

    def look(self, rollout: Rollout, run: StageRun, now: datetime) -> Found | None:
        """What the evidence says now; None while there is nothing to say. Changes nothing."""

    def leave(self, rollout: Rollout, run: StageRun, now: datetime) -> None:
        """It has passed, and the next stage waits."""

    def stop(self, rollout: Rollout, run: StageRun, reason: str) -> None:
        """The rollout ends; what the gateway runs is undone by the caller."""


def stage_of(rollout: Rollout, run: StageRun) -> Stage:
    """The stage as the plan has it."""
    return rollout.document.stages[run.index]


def seed_of(rollout: Rollout, run: StageRun) -> int:
    """Each attempt draws anew, and every draw follows from the rollout's seed. Under 2⁵³."""
    text = f"{rollout.seed}:{run.index}:{run.attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])


def late(rollout: Rollout, run: StageRun, now: datetime) -> bool:
    """Whether the stage's deadline is over."""
    return now >= run.entered_at + timedelta(seconds=deadline_s(stage_of(rollout, run)))


def elapsed_s(run: StageRun, now: datetime) -> float:
    return max(0.0, (now - run.entered_at).total_seconds())

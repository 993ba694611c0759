"""What happened to a rollout: its timeline and the audit log, written together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from controlplane.audit import services as audit
from controlplane.rollouts.models import Rollout, RolloutEvent

SYSTEM = "rollout engine"
"""Who acts where no person does, as the audit log writes it."""


def note(rollout: Rollout, verb: str, *, by: str, text: str, now: datetime, **detail: Any) -> None:
    """One line on the page and one entry in the audit log, under the next ``seq``.

    Called with the row locked, in the transaction of the change.
    """
    rollout.seq += 1
    rollout.save(update_fields=["seq"])
    RolloutEvent.objects.create(
        rollout=rollout, seq=rollout.seq, at=now, verb=verb, by=by, text=text
    )
    record(rollout, verb, by=by, detail={"because": text, **detail})


def record(
    rollout: Rollout,
    verb: str,
    *,
    by: str,
    detail: Mapping[str, Any] | None = None,
    denied: bool = False,
) -> None:
    """The audit entry alone."""
    audit.record(
        team_id=rollout.team_id,
        actor=by,
        verb=f"{verb}_rollout",
        kind="rollout",
        object_id=rollout.pk,
        name=f"{rollout.title} on {rollout.gateway.name}"[:200],
        detail={"plan_sha256": rollout.plan_sha256, "stage": rollout.stage, **(detail or {})},
        denied=denied,
    )

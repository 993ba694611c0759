"""What a supervised comparison has measured, stored as it comes in one transaction, then told.

Every change raises seq in the transaction that stores it. A comparison that is no longer ours (the
watchdog gave it up) takes nothing: ``Superseded``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.comparisons import live
from controlplane.comparisons.models import Comparison, ComparisonBlock, Status
from controlplane.runs.ledger import Superseded
from controlplane.runs.models import ACTIVE
from loadtest.ab.execution import RESULT

log = logging.getLogger(__name__)

Message = Mapping[str, Any]


class ComparisonLedger:
    """The one writer of a running comparison; ``controlplane.runs.supervisor`` calls it."""

    def __init__(self, comparison: Comparison, out_dir: Path) -> None:
        self._comparison = comparison
        self._out_dir = out_dir
        self._blocks: list[Message] = []
        self._values: dict[str, Any] = {"live": dict(comparison.live)}

    @property
    def run_id(self) -> object:
        """What the supervisor's log calls it."""
        return self._comparison.pk

    def status(self) -> Status:
        """How the database sees it; Superseded when it has ended there."""
        found = Comparison.objects.values_list("status", flat=True).get(pk=self._comparison.pk)
        status = Status(found)
        if status not in ACTIVE:
            raise Superseded(status)
        return status

    def heard_by(self) -> dict[str, Callable[[Message], None]]:
        """Of a run's further messages an A/B's worker says none."""
        return {}

    def started(self, message: Message) -> None:
        """Its engines stand, and the load begins."""
        self._values["load_started_at"] = timezone.now()
        self._values["live"]["model"] = message.get("model")

    def hear_progress(self, message: Message) -> None:
        """How far it is."""
        told = {key: message.get(key) for key in ("at", "left_s", "in_flight")}
        self._values["live"] |= told

    def hear_block(self, message: Message) -> None:
        """A block is closed."""
        self._blocks.append(message)
        self._values["live"] |= {
            "totals": message.get("totals"),
            "at": message["block"]["ended_at"],
        }
        if message.get("verdict"):
            self._values["verdict"] = message["verdict"]
            self._values["because"] = str(message["verdict"].get("because", ""))

    def store(self) -> None:
        """Everything heard since the last time, with the heartbeat; then one frame."""
        self._commit(self._values)

    def finish(self, status: Status, *, summary: Message | None, reason: str = "") -> None:
        """The end: verdict, result and status, with what was still unstored, in one go.

        A reason that stands already, such as who cancelled, stays in front.
        """
        told = Comparison.objects.values_list("reason", flat=True).get(pk=self._comparison.pk)
        end = {
            "status": status,
            "reason": f"{told} {reason}".strip()[:500],
            "ended_at": timezone.now(),
        }
        self._commit(self._values | ending(status, summary) | end)

    def recovered(self) -> dict[str, Any] | None:
        """The result that a worker had written before it ended; its blocks are stored already."""
        try:
            return json.loads((self._out_dir / RESULT).read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def _commit(self, values: dict[str, Any]) -> None:
        ours = Comparison.objects.filter(pk=self._comparison.pk, status__in=ACTIVE)
        with transaction.atomic():
            if not ours.update(seq=F("seq") + 1, heartbeat_at=timezone.now(), **values):
                raise Superseded
            self._comparison.refresh_from_db()
            ComparisonBlock.objects.bulk_create(
                ComparisonBlock(
                    comparison=self._comparison,
                    index=message["block"]["index"],
                    seq=self._comparison.seq,
                    data=message["block"],
                    arms=message.get("arms") or {},
                )
                for message in self._blocks
            )
        self._blocks = []
        live.announce(self._comparison)


def ending(status: Status, summary: Message | None) -> dict[str, Any]:
    """A result's columns: the one verdict that page, API and rollout read.

    Only what came to its end has an outcome; of what was stopped, the verdict says how it stood.
    """
    if not summary:
        return {}
    verdict = (summary.get("stored") or {}).get("verdict") or {}
    because = str(verdict.get("because", ""))
    outcome = str(verdict.get("outcome", "")) if status == Status.DONE else ""
    return {"result": summary, "verdict": verdict, "because": because, "outcome": outcome}

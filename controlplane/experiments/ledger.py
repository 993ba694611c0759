"""What a supervised play says, stored as it comes; its result once, with the end.

An experiment that is no longer ours (the watchdog gave it up) takes nothing: ``Superseded``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.experiments.models import Experiment, ExperimentResult, Status
from controlplane.runs.ledger import Superseded
from controlplane.runs.models import ACTIVE
from documents import canonical

Message = Mapping[str, Any]


class ExperimentLedger:
    """The one writer of a running experiment; ``controlplane.runs.supervisor`` calls it."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._live: dict[str, Any] = dict(experiment.live)

    @property
    def run_id(self) -> object:
        """What the supervisor's log calls it."""
        return self._experiment.pk

    def status(self) -> Status:
        """How the database sees it; Superseded when it has ended there."""
        found = Experiment.objects.values_list("status", flat=True).get(pk=self._experiment.pk)
        status = Status(found)
        if status not in ACTIVE:
            raise Superseded(status)
        return status

    def heard_by(self) -> dict[str, Callable[[Message], None]]:
        """Who takes each further kind of message."""
        return {"progress": self.hear_progress}

    def started(self, message: Message) -> None:
        """The play begins."""
        self._live["version"] = message.get("version", "")

    def hear_progress(self, message: Message) -> None:
        """How far it is."""
        self._live |= {key: message.get(key) for key in ("runs", "done", "of", "seconds")}

    def store(self) -> None:
        """Everything heard since the last time, with the heartbeat."""
        self._commit({"live": self._live})

    def finish(self, status: Status, *, summary: Message | None, reason: str = "") -> None:
        """The end, with the result where there is one, in one go.

        A reason that stands already, such as who cancelled, stays in front.
        """
        if status == Status.DONE and summary:
            self.hear_progress(summary)
        told = Experiment.objects.values_list("reason", flat=True).get(pk=self._experiment.pk)
        said = reason.replace("The load-test worker", "Its process")
        end = {
            "status": status,
            "reason": f"{told} {said}".strip()[:500],
            "ended_at": timezone.now(),
            "live": self._live,
        }
        with transaction.atomic():
            self._commit(end)
            if status == Status.DONE and summary:
                _put(self._experiment, summary)

    def recovered(self) -> None:
        """Half a play says nothing."""

    def _commit(self, values: dict[str, Any]) -> None:
        ours = Experiment.objects.filter(pk=self._experiment.pk, status__in=ACTIVE)
        if not ours.update(seq=F("seq") + 1, heartbeat_at=timezone.now(), **values):
            raise Superseded


def _put(experiment: Experiment, summary: Message) -> None:
    document = summary["result"]
    ExperimentResult.objects.create(
        experiment=experiment,
        document=document,
        sha256=canonical.sha256(document),
        holds=bool(document["holds"]),
        runs=int(summary["runs"]),
        seconds=float(summary["seconds"]),
        version=str(summary["version"])[:40],
    )

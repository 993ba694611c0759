"""What a supervised run has measured, stored once a second in one transaction, then told.

Every change raises the run's seq in the transaction that stores it. A run that is no longer ours
(the watchdog gave it up) takes nothing: ``Superseded``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.runs import frames, live
from controlplane.runs.board import Board, Changed, layout
from controlplane.runs.models import ACTIVE, Run, RunDecision, RunRow, RunWindow, Status
from controlplane.runs.quiet import Quiet
from controlplane.runs.tables import FirstErrors, counts
from loadtest.recorder import SAMPLES
from loadtest.recover import NothingLeft, recover
from measurement.window import Window

log = logging.getLogger(__name__)

Message = Mapping[str, Any]


class Superseded(RuntimeError):  # noqa: N818 - a state of the run, not a fault
    """Someone else has ended this run."""


@dataclass(slots=True)
class Told:
    """The lines of one controller trace: how many are stored, and those that are not yet."""

    count: int = 0
    unstored: list[Message] = field(default_factory=list)

    def stored(self) -> list[dict[str, Any]]:
        """They are stored now; each with its number."""
        lines = [{"n": n, **data} for n, data in enumerate(self.unstored, self.count)]
        self.count += len(lines)
        self.unstored = []
        return lines


class Ledger:
    """The one writer of a running run. What could not be stored is stored with the next change."""

    def __init__(
        self,
        run: Run,
        out_dir: Path,
        *,
        publish: Callable[[Run, frames.Frame], None] = live.publish,
    ) -> None:
        self._run = run
        self._out_dir = out_dir
        self._publish = publish
        self._board = Board(run.duration_s, warm_up_s=run.warm_up_s)
        self._changed: Changed = {"events": set(), "cohorts": set()}
        self._windows: dict[int, tuple[Window, Message]] = {}
        self._decided, self._shadowed = Told(), Told()
        self._quiet = Quiet(frames.slo_of(run), since=run.warm_up_s)
        self._errors = FirstErrors(out_dir / SAMPLES)
        self._values: dict[str, Any] = {"live": {**run.live, "layout": layout()}}

    @property
    def run_id(self) -> object:
        return self._run.pk

    def status(self) -> Status:
        """How the database sees the run; Superseded when it has ended there."""
        status = Status(Run.objects.values_list("status", flat=True).get(pk=self._run.pk))
        if status not in ACTIVE:
            raise Superseded(status)
        return status

    def started(self, message: Message) -> None:
        """Load has begun."""
        at = message.get("at_unix")
        known = isinstance(at, int | float)
        self._values["load_started_at"] = (
            datetime.fromtimestamp(at, UTC) if known else timezone.now()
        )
        self._values["live"]["offered"] = message.get("offered")

    def hear_windows(self, message: Message) -> None:
        """Roll up what has changed; the transaction that stores it does no arithmetic."""
        documents = message.get("windows", [])
        windows = [Window.from_json(document) for document in documents]
        for window, document in zip(windows, documents, strict=True):
            self._windows[window.index] = (window, document)
        self._note(self._board.fold(windows))
        self._quiet.take(windows)
        self._values["live"]["quiet"] = self._quiet.to_json()
        told = {key: message[key] for key in ("verdict", "totals", "at") if key in message}
        self._values["live"] |= told

    def heard_by(self) -> dict[str, Callable[[Message], None]]:
        """Who takes each further kind of message; a worker may say other kinds too."""
        return {
            "decisions": self.hear_decisions,
            "shadow": self.hear_shadow,
            "signals": self.hear_signals,
        }

    def hear_decisions(self, message: Message) -> None:
        self._decided.unstored += message.get("decisions", [])

    def hear_shadow(self, message: Message) -> None:
        """What the shadow decided, and how it compares by now."""
        self._shadowed.unstored += message.get("decisions", [])
        self._values["live"]["shadow"] = message.get("report")

    def hear_signals(self, message: Message) -> None:
        self._values["live"]["signals_missing"] = bool(message.get("missing"))

    def store(self) -> None:
        """Everything heard since the last time, with the heartbeat, in one go; then one frame."""
        self._count()
        self._commit(self._values)

    def finish(self, status: Status, *, summary: Message | None, reason: str = "") -> None:
        """The end: verdict, report and status, with what was still unstored, in one go.

        A reason that stands already, such as who cancelled, stays in front.
        """
        self._note(self._board.close())
        self._count()
        told = Run.objects.values_list("reason", flat=True).get(pk=self._run.pk)
        end = {
            "status": status,
            "reason": f"{told} {reason}".strip()[:500],
            "ended_at": timezone.now(),
        }
        self._commit(self._values | ending(summary) | end)

    def recovered(self) -> dict[str, Any] | None:
        """A report from what the worker left; None when that is not enough for one."""
        return recovered(self._out_dir)

    def _count(self) -> None:
        self._values["live"]["counts"] = counts(self._board.cohorts.counts())
        self._values["live"]["first_errors"] = dict(self._errors.read())

    def _note(self, changed: Changed) -> None:
        for source, starts in changed.items():
            self._changed[source] |= starts

    def _commit(self, values: dict[str, Any]) -> None:
        ours = Run.objects.filter(pk=self._run.pk, status__in=ACTIVE)
        with transaction.atomic():
            if not ours.update(seq=F("seq") + 1, heartbeat_at=timezone.now(), **values):
                raise Superseded
            self._run.refresh_from_db()
            put_windows(self._run, self._windows.values())
            put_decisions(self._run, self._decided)
            put_decisions(self._run, self._shadowed, shadow=True)
            put_rows(self._run, self._board, self._changed)
        decisions, shadowed = self._decided.stored(), self._shadowed.stored()
        self._windows = {}
        self._changed = {"events": set(), "cohorts": set()}
        since = self._run.seq - 1
        told = frames.Decided(decisions, shadowed)
        self._publish(self._run, frames.build(self._run, self._board, told, since=since))


def put_windows(run: Run, windows: Iterable[tuple[Window, Message]]) -> None:
    """Store windows under the run's seq; a revision replaces what was stored before."""
    RunWindow.objects.bulk_create(
        [
            RunWindow(
                run=run,
                index=window.index,
                revision=window.revision,
                seq=run.seq,
                final=window.final,
                data=document,
            )
            for window, document in windows
        ],
        update_conflicts=True,
        unique_fields=["run", "index"],
        update_fields=["revision", "seq", "final", "data"],
    )


def put_decisions(run: Run, told: Told, *, shadow: bool = False) -> None:
    """Store lines of a controller trace under the run's seq."""
    RunDecision.objects.bulk_create(
        RunDecision(run=run, n=n, seq=run.seq, data=data, shadow=shadow)
        for n, data in enumerate(told.unstored, told.count)
    )


def put_rows(run: Run, board: Board, changed: Changed) -> None:
    """Store changed rows of the page under the run's seq."""
    for table in board.tables:
        table.seqs |= dict.fromkeys(changed[table.source], run.seq)
    RunRow.objects.bulk_create(
        [
            RunRow(run=run, table=table.source, at=at, seq=run.seq, values=table.rows[at])
            for table in board.tables
            for at in sorted(changed[table.source])
        ],
        update_conflicts=True,
        unique_fields=["run", "table", "at"],
        update_fields=["seq", "values"],
    )


def ending(summary: Message | None) -> dict[str, Any]:
    """A report's columns: the one verdict that page, API and command line read."""
    if summary is None:
        return {}
    judgement = summary.get("judgement") or {}
    return {
        "summary": summary,
        "judgement": judgement,
        "verdict": str(summary.get("verdict") or ""),
        "because": str(judgement.get("because") or ""),
    }


def recovered(out_dir: Path) -> dict[str, Any] | None:
    """The report of a worker that died, from the files it left."""
    try:
        return recover(out_dir)
    except (NothingLeft, OSError, ValueError, KeyError) as error:
        log.warning("nothing to recover in %s: %s", out_dir, error)
        return None

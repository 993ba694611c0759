"""Watch one load-test worker from its start to its end, and store what it says as it says it.

The loop reads the worker's messages with deadlines, stores once a second, and looks four times a
second whether someone wants the run to stop. It returns when the run has ended, in the database
too; a run that someone else has ended (the watchdog) is left as it is and the worker is killed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.db import OperationalError

from controlplane.runs.child import Child, Ended, Garbage, Message
from controlplane.runs.ledger import Ledger, Superseded
from controlplane.runs.models import Status

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds, all of them."""

    poll: float = 0.25
    beat: float = 1.0
    start: float = 30.0
    """From the start of the process to its first message."""
    silence: float = 15.0
    """Between two messages."""
    cancel: float = 5.0
    """From the request to stop to the end of the process."""
    storage: float = 60.0
    """Without being able to store."""
    overtime: float = 30.0
    """Past load and drain."""
    garbage: int = 50
    """Lines that are no message, before the worker is taken for another program."""


class Fate(Enum):
    """Why listening ended."""

    REPORTED = "it reported"
    FAILED = "it said that it can't"
    DIED = "it died"
    KILLED = "it was killed for missing a deadline"


@dataclass(slots=True)
class Heard:
    """What the worker has said about its end."""

    summary: dict[str, Any] | None = None
    status: str = ""
    error: str = ""
    deadline: str = ""
    garbage: int = 0
    first_garbage: str = ""


class Supervisor:
    """One run's. ``budget`` is how long load and drain may take together."""

    def __init__(
        self,
        ledger: Ledger,
        child: Child,
        *,
        budget: float,
        deadlines: Deadlines | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._child = child
        self._deadlines = deadlines or Deadlines()
        self._budget = budget
        self._clock = clock
        self._heard_by = ledger.heard_by()
        self._heard = Heard()
        now = clock()
        self._began = self._last_heard = self._last_stored = self._last_look = now
        self._load_began: float | None = None
        self._cancelled_at: float | None = None

    def run(self) -> Fate | None:
        """Supervise to the end; None when someone else ended the run meanwhile."""
        try:
            fate = self._listen()
        except Superseded:
            self._child.kill()
            self._child.close()
            return None
        except BaseException:
            self._child.kill()
            self._child.close()
            raise
        code = self._child.close()
        self._conclude(fate, code)
        return fate

    def _listen(self) -> Fate:
        while True:
            try:
                message = self._child.hear(self._deadlines.poll)
            except Ended:
                return self._fate_of_end()
            except Garbage as garbage:
                message = None
                self._count(garbage)
            if message is not None:
                self._last_heard = self._clock()
                self._take(message)
            self._look()
            if self._missed_deadline():
                self._child.kill()
                return Fate.KILLED

    def _fate_of_end(self) -> Fate:
        if self._heard.summary is not None:
            return Fate.REPORTED
        return Fate.FAILED if self._heard.error else Fate.DIED

    def _count(self, garbage: Garbage) -> None:
        self._heard.garbage += 1
        self._heard.first_garbage = self._heard.first_garbage or str(garbage)
        log.warning("run %s: no message: %s", self._ledger.run_id, garbage)

    def _take(self, message: Message) -> None:
        kind = message["type"]
        if kind == "started":
            self._load_began = self._clock()
            self._ledger.started(message)
            self._store()
        elif kind == "windows":
            self._ledger.hear_windows(message)
            self._store()
        elif kind in self._heard_by:
            self._heard_by[kind](message)
        elif kind == "finished":
            self._heard.summary = message.get("summary") or {}
            self._heard.status = str(message.get("status", ""))
        elif kind == "error":
            self._heard.error = f"{message.get('message', '')}"[:500] or "it gave no reason"

    def _store(self) -> None:
        """Store; a database that is away for a moment costs a moment's frames, not the run."""
        try:
            self._ledger.store()
        except OperationalError as error:
            if self._clock() - self._last_stored > self._deadlines.storage:
                raise
            log.warning("run %s: not stored yet: %s", self._ledger.run_id, error)
            return
        self._last_stored = self._clock()

    def _look(self) -> None:
        """Has someone asked to stop? Is the heartbeat due?"""
        now = self._clock()
        if now - self._last_stored >= self._deadlines.beat:
            self._store()
        if now - self._last_look < self._deadlines.poll:
            return
        self._last_look = now
        try:
            status = self._ledger.status()
        except OperationalError as error:
            log.warning("run %s: can't see whether to stop: %s", self._ledger.run_id, error)
            return
        if status == Status.CANCELLING and self._cancelled_at is None:
            self._cancelled_at = now
            self._child.cancel()

    def _missed_deadline(self) -> bool:
        now, limits = self._clock(), self._deadlines
        started = self._load_began is not None
        silence = limits.silence if started else limits.start
        missed = ""
        if self._cancelled_at is not None and now - self._cancelled_at > limits.cancel:
            missed = f"it did not stop within {limits.cancel:g} s of being asked to"
        elif now - self._last_heard > silence:
            missed = f"it said nothing for {silence:g} s"
        elif started and now - (self._load_began or 0.0) > self._budget + limits.overtime:
            missed = f"it ran {limits.overtime:g} s over the time for load and drain"
        elif self._heard.garbage > limits.garbage:
            missed = f"it spoke another language: {self._heard.first_garbage!r}"
        self._heard.deadline = missed
        return bool(missed)

    def _conclude(self, fate: Fate, code: int) -> None:
        """Store how it ended, with the report that there is."""
        heard, asked = self._heard, self._cancelled_at is not None
        if fate is Fate.REPORTED:
            stopped = asked or heard.status == "cancelled"
            reason = "" if asked or not stopped else "The worker was told to stop from outside."
            status = Status.CANCELLED if stopped else Status.DONE
            self._ledger.finish(status, summary=heard.summary, reason=reason)
        elif fate is Fate.FAILED and not asked:
            left = self._ledger.recovered() if self._load_began is not None else None
            self._ledger.finish(Status.FAILED, summary=left, reason=heard.error)
        else:
            why = f"The load-test worker {_how(code, heard)}."
            if words := self._child.last_words():
                log.error("run %s: %s %s", self._ledger.run_id, why, words)
            # Asked to stop before it was ready to, a worker just ends: that is what was wanted.
            status = Status.CANCELLED if asked else Status.LOST
            self._ledger.finish(status, summary=self._ledger.recovered(), reason=why)


def _how(code: int, heard: Heard) -> str:
    if heard.deadline:
        return f"was killed: {heard.deadline}"
    if heard.error:
        return f"said: {heard.error}"
    if code < 0:
        return f"was killed by signal {-code} before it reported"
    return f"ended with code {code} before it reported"

"""The watch over one call: four time-outs on one timer, at no cost per chunk.

The timer is set when the request is sent, for the first moment at which any time-out can be due.
What has come since is looked at when it fires, and it is set again for what is due then. A timer
that is late itself shows that this process stood still: what came meanwhile is then read first, or
a client that was stopped for a second would find every stream silent for that long.
"""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

from engines.request import Timeouts
from engines.transport.base import Exchange
from engines.transport.patient_timeout import GRACE, LATE
from measurement.outcome import Outcome


class Progress(Protocol):
    """What the watch needs to know of a call."""

    @property
    def sent_at(self) -> float | None: ...
    @property
    def first_token_at(self) -> float | None: ...
    @property
    def event_at(self) -> float | None: ...
    @property
    def over_at(self) -> float | None: ...


class Watch:
    """Ends an exchange when one of its time-outs is due."""

    __slots__ = (
        "_due_at", "_exchange", "_over", "_progress", "_shortest", "_spared", "_started_at",
        "_stream", "_timeouts", "_timer",
    )  # fmt: skip

    def __init__(
        self,
        exchange: Exchange,
        progress: Progress,
        timeouts: Timeouts,
        began_at: float | None = None,
        *,
        stream: bool,
    ) -> None:
        """``began_at``: when the call began, if that was before now."""
        self._exchange = exchange
        self._progress = progress
        self._timeouts = timeouts
        self._stream = stream
        self._shortest = min(timeouts.first_token, timeouts.idle)
        self._started_at = exchange.clock() if began_at is None else began_at
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = 0.0
        self._spared = False
        self._over = False

    def sent(self) -> None:
        """The request went out."""
        self._stop()
        if self._over:
            return
        total = self._started_at + self._timeouts.total
        due = min(total, self._exchange.clock() + self._shortest) if self._stream else total
        self._set(due)

    def over(self) -> None:
        """The answer has said that it is over, and so the call is, here and now.

        A server that takes its time to close the message behind [DONE] must not make the next
        request of a closed loop late.
        """
        if not self._over:
            self._stop()
            self._exchange.end(None, at=self._progress.over_at)

    def end(self) -> None:
        """The call is over. Call and watch hold each other: let go, so that both are freed now,
        and not by the garbage collector, which would stop every stream to look for them."""
        self._stop()
        self._over = True
        del self._progress, self._exchange

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, due: float) -> None:
        if due < math.inf:
            self._due_at = due
            delay = max(0.0, due - self._exchange.clock())
            self._timer = asyncio.get_running_loop().call_later(delay, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if not self._spared and self._exchange.clock() - self._due_at > LATE:
            self._spared = True
            self._timer = asyncio.get_running_loop().call_later(GRACE, self._fire)
            return
        self._spared = False
        self._exchange.settle()
        if self._exchange.ended.done():
            return
        due, outcome = self._due()
        if due > self._exchange.clock():
            self._set(due)
            return
        name = outcome.value.removeprefix("timeout_")
        reason = f"no end within timeouts.{name}" if name == "total" else f"timeouts.{name} passed"
        self._exchange.end(outcome, reason)

    def _due(self) -> tuple[float, Outcome]:
        """When the next time-out is due, and which."""
        progress, timeouts = self._progress, self._timeouts
        total = self._started_at + timeouts.total
        if self._stream and progress.sent_at is not None:
            if progress.first_token_at is None:
                due, outcome = progress.sent_at + timeouts.first_token, Outcome.TIMEOUT_FIRST_TOKEN
            else:
                last = progress.event_at or progress.first_token_at
                due, outcome = last + timeouts.idle, Outcome.TIMEOUT_IDLE
            if due < total:
                return due, outcome
        return total, Outcome.TIMEOUT_TOTAL

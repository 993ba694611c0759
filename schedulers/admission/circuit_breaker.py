"""A circuit breaker: when too many requests fail, send none for a while, then a few to see."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from documents.fields import parameter
from schedulers.admission.base import Answer, Ended, Unmoved, admission_law, admit, shed
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.request import Request
from schedulers.signals import Signals

FAILURES = (OutcomeKind.REJECTED, OutcomeKind.TIMED_OUT, OutcomeKind.FAILED)


@dataclass(frozen=True, slots=True)
class BreakerState:
    """Closed while ``opened_at`` is None. ``probing`` counts probes that are out."""

    ended: int = 0
    failed: int = 0
    since: float | None = None
    opened_at: float | None = None
    probing: int = 0
    passed: int = 0


@admission_law
@dataclass(frozen=True, slots=True)
class CircuitBreaker(Unmoved):
    """Closed: counts failures (refused, timed out, failed) over ``window_s``. Open: sheds
    for ``open_s``. Then ``probes`` requests at once may go; as many successes close it, one failure
    opens it anew. Cancelled requests say nothing. Answers to requests that were admitted before it
    opened don't count: one overload opens it once.
    """

    name: ClassVar[str] = "circuit_breaker"
    summary: ClassVar[str] = (
        "Sheds everything for a while once too large a share of requests failed, then lets a few "
        "through to see whether the engine is back."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "All or nothing: an engine that could serve half of the traffic serves none while it "
            "is "
            "open. A guard behind another law, not a law for overload."
        ),
    )

    failure_share: float = parameter(
        default=0.5, minimum=0.01, maximum=1.0, help="The share of failures that opens it."
    )
    least: int = parameter(
        default=20,
        minimum=1,
        maximum=100_000,
        unit="requests",
        help="Ended requests in a window before it may open.",
    )
    window_s: float = parameter(
        default=10.0, minimum=0.1, maximum=3600.0, unit="s", help="Length of a window."
    )
    open_s: float = parameter(
        default=5.0, minimum=0.1, maximum=3600.0, unit="s", help="How long it stays open."
    )
    probes: int = parameter(
        default=3,
        minimum=1,
        maximum=1000,
        unit="requests",
        help="Requests that may probe at once, and successes that close it.",
    )

    def start(self) -> BreakerState:
        return BreakerState()

    def offer(
        self,
        state: BreakerState,
        request: Request,
        seen: Signals | None,
        now: float,
    ) -> tuple[BreakerState, Answer]:
        if state.opened_at is None:
            return state, admit()
        left = state.opened_at + self.open_s - now
        if not left <= 0.0:
            return state, shed(Reason.CIRCUIT_OPEN, left, failed=float(state.failed))
        if state.probing + state.passed < self.probes:
            return replace(state, probing=state.probing + 1), admit(Reason.PROBE)
        return state, shed(Reason.CIRCUIT_OPEN, self.open_s)

    def ended(self, state: BreakerState, over: Ended, now: float) -> BreakerState:
        if not math.isfinite(now):
            return state
        bad = over.kind in FAILURES
        if state.opened_at is not None:
            return self._probed(state, over, now, bad=bad)
        if over.kind is OutcomeKind.CANCELLED:
            return state
        if state.since is None or now - state.since > self.window_s or now < state.since:
            state = BreakerState(since=now)
        state = replace(state, ended=state.ended + 1, failed=state.failed + bad)
        if state.ended >= self.least and state.failed >= self.failure_share * state.ended:
            return BreakerState(state.ended, state.failed, opened_at=now)
        return state

    def _probed(self, state: BreakerState, over: Ended, now: float, *, bad: bool) -> BreakerState:
        opened = state.opened_at if state.opened_at is not None else now
        if over.admitted_at < opened or state.probing == 0:
            return state
        state = replace(state, probing=state.probing - 1)
        if bad:
            return BreakerState(state.ended, state.failed, opened_at=now)
        if over.kind is OutcomeKind.CANCELLED:
            return state
        state = replace(state, passed=state.passed + 1)
        return BreakerState() if state.passed >= self.probes else state

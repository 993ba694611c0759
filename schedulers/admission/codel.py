"""CoDel: shed while even the shortest wait of an interval stays over a target."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from documents.fields import parameter
from schedulers.admission.base import Answer, Unmoved, admission_law, admit, shed
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.request import Request
from schedulers.signals import Signals


@dataclass(frozen=True, slots=True)
class CodelState:
    """``above_at``: when the wait will have been over the target for an interval."""

    above_at: float | None = None
    dropping: bool = False
    next_at: float = 0.0
    count: int = 0


@admission_law
@dataclass(frozen=True, slots=True)
class Codel(Unmoved):
    """RFC 8289 on a queue of requests: asked when a request is about to be sent, with its wait.

    While the wait stays over ``target_ms`` for ``interval_ms``, one is shed, and then one each
    interval / √count, until a wait is under the target again. A batch tier may wait
    ``batch_factor`` times as long. Time is in seconds inside.
    """

    name: ClassVar[str] = "codel"
    summary: ClassVar[str] = (
        "Controlled delay: sheds at a rising rate while every wait of an interval was over the "
        "target; a burst that drains is left alone."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Sheds whoever is at the head, whatever its tier or deadline, and for some intervals "
            "too few: packets shrink a sender's window, a shed request only comes back."
        ),
    )

    target_ms: float = parameter(
        default=500.0,
        minimum=1.0,
        maximum=600_000.0,
        unit="ms",
        help="A wait that is no queue yet.",
    )
    interval_ms: float = parameter(
        default=5000.0,
        minimum=10.0,
        maximum=3_600_000.0,
        unit="ms",
        help="How long waits must stay over the target before the first is shed.",
    )
    batch_factor: float = parameter(
        default=60.0, minimum=1.0, maximum=1000.0, help="How many times the target batch may wait."
    )

    def start(self) -> CodelState:
        return CodelState()

    def offer(
        self,
        state: CodelState,
        request: Request,
        seen: Signals | None,
        now: float,
    ) -> tuple[CodelState, Answer]:
        wait = now - request.arrived_at
        target = self.target_ms / 1e3 * (self.batch_factor if request.band == 2 else 1.0)
        interval = self.interval_ms / 1e3
        if not (math.isfinite(wait) and wait >= 0.0):
            return state, admit()
        if wait < target:
            return CodelState(count=state.count, next_at=state.next_at), admit(wait=wait)
        if state.above_at is None:
            return replace(state, above_at=now + interval), admit(wait=wait)
        return self._over(state, wait, interval, now)

    def _over(
        self, state: CodelState, wait: float, interval: float, now: float
    ) -> tuple[CodelState, Answer]:
        """The wait is over the target, and not for the first time."""
        if state.above_at is not None and now < state.above_at:
            return state, admit(wait=wait)
        if not state.dropping:
            # A new spell shortly after the last one begins near its rate, as RFC 8289 has it.
            recent = now - state.next_at < 16 * interval
            count = max(1, state.count - 2) if recent and state.count > 2 else 1
            next_at = now + interval / math.sqrt(count)
            dropped = CodelState(state.above_at, dropping=True, next_at=next_at, count=count)
            return dropped, shed(Reason.QUEUE_DELAY, wait, wait=wait)
        if now < state.next_at:
            return state, admit(wait=wait)
        count = state.count + 1
        next_at = state.next_at + interval / math.sqrt(count)
        return replace(state, next_at=next_at, count=count), shed(
            Reason.QUEUE_DELAY, wait, wait=wait
        )

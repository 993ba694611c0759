"""The admission queue: a waiting room on an event loop, in front of a limiter."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from documents.parse import build
from schedulers.admission.base import AdmissionLaw, Ended
from schedulers.admission.base import laws as admissions
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.document import Policy
from schedulers.ordering.base import OrderingLaw, Waiting
from schedulers.ordering.base import laws as orderings
from schedulers.request import Request
from schedulers.runtime.caps import Caps
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.limiter import Limiter, Permit
from schedulers.runtime.turns import Turns
from schedulers.runtime.waiting_room import Admitted, Sent, WaitingRoom
from schedulers.signals import Signals

QUEUED = frozenset({DecisionPoint.ADMISSION, DecisionPoint.ORDERING})
"""The decision points of a policy that need a queue."""


class Shed(Exception):  # noqa: N818 - an answer, not a fault
    """The request was sent away: why, and when it may come back."""

    def __init__(self, reason: Reason, retry_after_s: float) -> None:
        self.reason = reason
        self.retry_after_s = retry_after_s
        super().__init__(f"{reason.meaning} Come back in {retry_after_s:.1f} s.")


@dataclass(slots=True, eq=False)
class Ticket:
    """The right to have one admitted request in flight, until it is released."""

    admitted: Admitted
    permit: Permit | None
    """None where no limiter stands behind the queue."""
    prefilled: bool = False
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Laws:
    """What decides: who is taken, and who is next. ``version`` names the policy."""

    admission: AdmissionLaw[Any]
    ordering: OrderingLaw[Any]
    version: str = ""

    @classmethod
    def of(cls, policy: Policy) -> Laws:
        """A point that the policy leaves open takes everybody, in order of arrival."""
        return cls(
            admission=policy.law("admission") or build(admissions.get("always"), {}),
            ordering=policy.law("ordering") or build(orderings.get("fcfs"), {}),
            version=policy.sha256,
        )


class AdmissionQueue:
    """Requests wait here by tier until the laws and the limiter let them through.

    ``limiter`` None: as many as the admission law takes. ``signals`` gives the last reading of the
    engine; ``draw`` numbers from [0, 1); ``said`` hears what is decided. All calls belong to one
    event loop's thread. Cancelled at any await, a request leaves nothing behind.
    """

    def __init__(  # noqa: PLR0913 - all that it works with is handed in
        self,
        laws: Laws,
        limiter: Limiter | None,
        *,
        clock: Callable[[], float],
        draw: Callable[[], float],
        caps: Caps | None = None,
        signals: Callable[[], Signals | None] = lambda: None,
        said: Deciding | None = None,
    ) -> None:
        room = self._room = WaitingRoom(
            laws.admission, laws.ordering, caps or Caps(), draw, laws.version
        )
        self._limiter = limiter
        if limiter is not None:
            limiter.ahead = lambda: len(room)
        self._clock = clock
        self._signals = signals
        self._said = said or Deciding(_no_cost, _unheard)
        self._turns = Turns(room, self._said)
        self._waiters: dict[int, asyncio.Future[Ticket]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._serial = 0
        self.in_flight = 0
        """Tickets that are not released."""

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._room)

    @property
    def room(self) -> WaitingRoom:
        """The state of both laws, and who waits."""
        return self._room

    async def acquire(
        self, request: Request, *, kv_tokens: int = 0, progress: float = 0.0
    ) -> Ticket:
        """Wait for a turn; Shed where there is none. Serial and arrival are stamped here."""
        self._serial += 1
        now = self._clock()
        stamped = replace(request, serial=self._serial, arrived_at=now)
        one = Waiting(request=stamped, kv_tokens=kv_tokens, progress=progress)
        waiter: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        self._waiters[stamped.serial] = waiter
        for sent in self._said.timed(lambda: self._room.join(one, now)):
            self._send_away(sent, now)
        self._pump()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.release(waiter.result(), outcome_kind=OutcomeKind.CANCELLED)
            else:
                self._waiters.pop(stamped.serial, None)
                if self._room.leave(one):
                    self._pump()
            raise

    def first_token(self, ticket: Ticket, ttft: float | None = None) -> None:
        """The prompt is computed: what waited for prefill may come, and the limit may move."""
        if self._limiter is not None and ticket.permit is not None:
            self._limiter.first_token(ticket.permit, ttft)
        if not ticket.prefilled and not ticket.released:
            ticket.prefilled = True
            now = self._clock()
            self._said.timed(lambda: self._room.prefilled(ticket.admitted, now))
            self._pump()

    def release(  # noqa: PLR0913 - what a host knows of a finished request
        self,
        ticket: Ticket,
        *,
        outcome_kind: OutcomeKind = OutcomeKind.OK,
        latency: float | None = None,
        ttft: float | None = None,
        prompt_tokens: int | None = None,
        output_tokens: int | None = None,
        retry_after: float | None = None,
        late: bool | None = None,
    ) -> None:
        """The request is over: all three laws learn, and whoever is next goes."""
        if ticket.released:
            serial = ticket.admitted.request.serial
            raise RuntimeError(f"ticket {serial} was released before")
        ticket.released = True
        self.in_flight -= 1
        if self._limiter is not None and ticket.permit is not None:
            self._limiter.release(
                ticket.permit,
                outcome_kind=outcome_kind,
                latency=latency,
                ttft=ttft,
                prompt_tokens=prompt_tokens,
                output_tokens=output_tokens,
                retry_after=retry_after,
            )
        went = ticket.admitted
        over = Ended(
            request=went.request,
            reservation=went.reservation,
            admitted_at=went.at,
            kind=outcome_kind,
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            prefilled=ticket.prefilled,
            late=late,
        )
        now = self._clock()
        self._said.timed(lambda: self._room.ended(went, over, now))
        self._pump()

    def adopt(self, laws: Laws) -> None:
        """Another version decides from now on; whoever waits or is in flight stays."""
        self._room.adopt(laws.version, laws.admission, laws.ordering, self._clock())
        self._pump()

    def pump(self) -> None:
        """Let go whoever may: for hosts that change what the limiter allows."""
        self._pump()

    def _pump(self) -> None:
        """Let go whoever may; send away whoever must."""
        now = self._clock()
        for sent in self._room.expired(now):
            self._send_away(sent, now)
        while len(self._room) and self._has_place():
            what = self._said.timed(lambda: self._room.next(self._signals(), now))
            if what is None:
                self._turns.held(now)
                break
            if isinstance(what, Sent):
                self._send_away(what, now)
                continue
            if self._waiters[what.request.serial].done():  # cancelled, and not yet come to leave
                self._room.back(what, now)
                self._room.leave(what.one)
                continue
            permit = None if self._limiter is None else self._limiter.try_acquire()
            if permit is None and self._limiter is not None:  # it is lower since its time has come
                self._room.back(what, now)
                break
            self._turns.went(what, now)
            self.in_flight += 1
            self._waiters.pop(what.request.serial).set_result(Ticket(what, permit))
        self._arm(now)

    def _has_place(self) -> bool:
        return self._limiter is None or self._limiter.in_flight < self._limiter.limit

    def _send_away(self, sent: Sent, now: float) -> None:
        self._turns.sent(sent, now)
        waiter = self._waiters.pop(sent.request.serial)
        if not waiter.done():
            waiter.set_exception(Shed(sent.reason, sent.retry_after_s))

    def _arm(self, now: float) -> None:
        """While someone waits, wake up when a law's answer or a time to live ends.

        Where the limiter is full, what is held needs not be asked for again before it isn't.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not len(self._room):
            return
        at = self._room.wake_at() if self._has_place() else self._room.expires_at()
        if self._limiter is not None:
            at = min(at, self._limiter.until)
        if at < math.inf:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.001, at - now), self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._limiter is not None:
            self._limiter.keep_time()
        self._pump()


def _no_cost() -> float:
    return 0.0


def _unheard(decision: Decision) -> None:
    """Nobody keeps a trace."""

"""Admission and ordering in virtual time: the waiting room before the engine, and its limiter.

What ``schedulers.runtime.admission`` does on an event loop: whoever comes joins the room, and goes
when the admission law takes it, the ordering law has it next and the limiter has a permit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from loadtest.roster import Roster
from loadtest.simulation.limiter import Grant, VirtualLimiter
from measurement.sample import Sample
from schedulers.admission.base import Ended
from schedulers.concurrency.base import OutcomeKind
from schedulers.ordering.base import Waiting
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.limiter import Permit
from schedulers.runtime.turns import Turns
from schedulers.runtime.waiting_room import Admitted, Sent, WaitingRoom
from schedulers.signals import Signals

SendAway = Callable[[int, str, float], None]
"""Told who is sent away: its name, why, and seconds after which it may come back."""


@dataclass(frozen=True, slots=True)
class Ways:
    """Where a request goes from the room, as the host has it."""

    grant: Grant
    send_away: SendAway


class Front:
    """``limiter`` None: as many are let through as the admission law takes."""

    def __init__(
        self,
        room: WaitingRoom,
        limiter: VirtualLimiter | None,
        ways: Ways,
        roster: Roster,
        signals: Callable[[float], Signals],
        said: Deciding,
    ) -> None:
        self._room = room
        self._limiter = limiter
        if limiter is not None:
            limiter.ahead = lambda: len(room)
        self._ways = ways
        self._roster = roster
        self._signals = signals
        self._said = said
        self._turns = Turns(room, said)
        self._names: dict[int, int] = {}
        self._waiting: dict[int, Waiting] = {}
        self._admitted: dict[int, Admitted] = {}
        self._prefilled: set[int] = set()
        self._granted = 0
        self.rings_at = math.inf

    def acquire(self, name: int, now: float) -> None:
        """Let it in, and go if it may; whoever has no place is sent away."""
        request = self._roster[name]
        if request.arrived_at != now:  # its agent was held before this room
            request = replace(request, arrived_at=now)
        one = Waiting(request=request, kv_tokens=request.prompt_tokens)
        self._names[request.serial] = name
        self._waiting[name] = one
        for sent in self._said.timed(lambda: self._room.join(one, now)):
            self._send_away(sent, now)
        self._pump(now)

    def first_token(self, name: int, permit: Permit, now: float, ttft: float) -> None:
        """Its prompt is computed: the limit learns, and what waited for prefill may come."""
        if self._limiter is not None:
            self._limiter.first_token(name, permit, now, ttft)
        went = self._admitted.get(name)
        if went is not None:
            self._prefilled.add(name)
            self._said.timed(lambda: self._room.prefilled(went, now))
            self._pump(now)

    def leave(self, name: int, now: float) -> None:
        """Who waited doesn't any more: who waited behind may go."""
        one = self._waiting.pop(name, None)
        if one is not None:
            self._names.pop(one.request.serial)
            self._room.leave(one)
            self._pump(now)

    def release(self, permit: Permit, now: float, kind: OutcomeKind, sample: Sample) -> None:
        """A request is over: all laws learn, and whoever is next goes.

        Of one that was given up they learn no more than that.
        """
        seen = None if kind is OutcomeKind.CANCELLED else sample
        if self._limiter is not None:
            self._limiter.release(permit, now, kind, seen)
        went = self._admitted.pop(sample.index)
        over = Ended(
            request=went.request,
            reservation=went.reservation,
            admitted_at=went.at,
            kind=kind,
            prompt_tokens=seen.prompt_tokens if seen else None,
            output_tokens=seen.output_tokens if seen else None,
            prefilled=sample.index in self._prefilled,
            late=_late(went, seen),
        )
        self._prefilled.discard(sample.index)
        self._said.timed(lambda: self._room.ended(went, over, now))
        self._pump(now)

    def ring(self, now: float) -> None:
        """A held one is to be asked for again, or has waited for too long, or the limit moves."""
        self._pump(now)

    def _pump(self, now: float) -> None:
        for sent in self._room.expired(now):
            self._send_away(sent, now)
        if self._limiter is not None:
            self._limiter.keep_time(now)
        while len(self._room) and self._has_place():
            what = self._said.timed(lambda: self._room.next(self._signals(now), now))
            if what is None:
                self._turns.held(now)
                break
            if isinstance(what, Sent):
                self._send_away(what, now)
            else:
                self._go(what, now)
        self.rings_at = self._wake_at(now)

    def _has_place(self) -> bool:
        return self._limiter is None or self._limiter.in_flight < self._limiter.limit

    def _go(self, went: Admitted, now: float) -> None:
        self._turns.went(went, now)
        name = self._names.pop(went.request.serial)
        del self._waiting[name]
        self._admitted[name] = went
        self._granted += 1
        permit = self._limiter.try_acquire(now) if self._limiter is not None else None
        self._ways.grant(name, permit or Permit(self._granted, now, len(self._admitted)))

    def _send_away(self, sent: Sent, now: float) -> None:
        self._turns.sent(sent, now)
        name = self._names.pop(sent.request.serial)
        del self._waiting[name]
        self._ways.send_away(name, sent.reason.meaning, sent.retry_after_s)

    def _wake_at(self, now: float) -> float:
        """Where the limiter is full, what is held needs not be asked for again before it isn't."""
        if not len(self._room):
            return math.inf
        at = self._room.wake_at() if self._has_place() else self._room.expires_at()
        until = math.inf if self._limiter is None else self._limiter.until
        return max(min(at, until), math.nextafter(now, math.inf))


def _late(went: Admitted, sample: Sample | None) -> bool | None:
    """Whether its first token missed its objective; None without one."""
    due = went.request.deadline_at
    if due is None:
        return None
    first = sample.first_token_at if sample else None
    return first is None or first > due

"""The waiting room: who waits, who is next, who is sent away. No event loop and no clock inside.

A virtual host and an async one hold the same two laws to the same rules with it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from schedulers.admission.base import Action, AdmissionLaw, Answer, Ended
from schedulers.decision import Reason
from schedulers.ordering.base import Backlog, OrderingLaw, Waiting
from schedulers.request import Request
from schedulers.runtime.caps import Caps
from schedulers.runtime.flow import Flow, first_of
from schedulers.runtime.in_force import Admitted, InForce
from schedulers.runtime.leaving import Leaving
from schedulers.signals import Signals

__all__ = ["Admitted", "Sent", "WaitingRoom"]


@dataclass(frozen=True, slots=True)
class Sent:
    """Sent away, with a time to come back."""

    one: Waiting
    reason: Reason
    retry_after_s: float

    @property
    def request(self) -> Request:
        return self.one.request


BLIND = frozenset({Reason.STALE_SIGNALS, Reason.NO_SIGNALS})
"""Why a law holds that sees too little of the engine: nothing need be wrong there."""
_ROUNDING_S = 1e-3
"""More than what arrival + time to live and now − arrival differ by in rounding."""


class WaitingRoom:
    """Bounded by tier and in all; ``draw`` gives numbers from [0, 1) to spread Retry-After."""

    def __init__(
        self,
        admission: AdmissionLaw[Any],
        ordering: OrderingLaw[Any],
        caps: Caps,
        draw: Callable[[], float],
        version: str = "",
    ) -> None:
        self.laws = InForce(admission, ordering, version)
        self.caps = caps
        self._draw = draw
        self._flows: dict[tuple[int, str], Flow] = {}
        """By band and tenant; none is empty."""
        self._bands = [0, 0, 0]
        self._serials: list[int] = []
        """Of all that wait, in order."""
        self._ends: tuple[Caps, float] | None = None
        """When the next time to live ends, by which caps; None: to be found."""
        self._leaving = Leaving()
        self._held_until = math.inf
        self.held_blind: tuple[Request, Answer] | None = None
        """Who was held at the last turn because the law sees too little of the engine, if any."""
        self._others: Backlog | None = None
        """Who waits, as long as no tenant comes or goes."""

    def __len__(self) -> int:
        return len(self._serials)

    def waiting(self, band: int) -> int:
        """How many of a band wait."""
        return self._bands[band]

    def join(self, one: Waiting, now: float) -> list[Sent]:
        """Let one in. Whoever has to leave for it: itself, or the newest of a lower tier."""
        band, gone = one.request.band, []
        if self._bands[band] >= self.caps.most(band):
            return [self._sent(one, Reason.QUEUE_FULL, now)]
        if len(self) >= self.caps.total:
            newest = self._newest_below(band) if self.caps.displacement else None
            if newest is None:
                return [self._sent(one, Reason.QUEUE_FULL, now)]
            self._remove(newest)
            gone.append(self._sent(newest, Reason.DISPLACED, now))
        self.laws.arrived(one, self._backlog(), now)
        self._place_for(one).add(one)
        return gone

    def leave(self, one: Waiting) -> bool:
        """Its caller went away; False if it waits no more."""
        flow = self._flows.get((one.request.band, one.request.tenant))
        if flow is None or one.request.serial not in flow:
            return False
        self._remove(one)
        return True

    def expired(self, now: float) -> list[Sent]:
        """Whoever has waited past its tier's time."""
        gone: list[Sent] = []
        if now < self.expires_at() - _ROUNDING_S:
            return gone
        for (band, _), flow in list(self._flows.items()):
            ttl = self.caps.ttl_s(band)
            while flow and now - (one := flow.head).request.arrived_at >= ttl:
                self._remove(one)
                gone.append(self._sent(one, Reason.EXPIRED, now))
        return gone

    def next(self, seen: Signals | None, now: float) -> Admitted | Sent | None:
        """Who goes or is sent away next; None: all that wait are held, until ``wake_at``.

        Where the engine has no room for one, nobody of its tier or below passes it, or what is
        large would wait for ever; where its tenant has no budget, other tenants pass.
        """
        self._held_until, self.held_blind = math.inf, None
        closed, broke = 3, set[str]()
        while True:
            flows = self._candidates(closed, broke)
            lost = self._hopeless(flows, now)
            if lost is not None:
                self._remove(lost)
                return self._sent(lost, Reason.HOPELESS, now)
            one = first_of(flows, self.laws.ordering, self.laws.order, now)
            if one is None:
                return None
            answer = self.laws.offer(one.request, seen, now)
            if answer.action is Action.HOLD:
                self._held_until = min(self._held_until, answer.until)
                if answer.reason in BLIND:
                    self.held_blind = one.request, answer
                if answer.reason is Reason.TENANT_BUDGET:
                    broke.add(one.request.tenant)
                else:
                    closed = min(closed, one.request.band)
                continue
            self._remove(one)
            if answer.action is Action.SHED:
                return self._sent(one, answer.reason, now, answer.retry_after_s)
            self._leaving.left(now)
            return self.laws.sent(one, answer, self._backlog(), now)

    def back(self, went: Admitted, now: float) -> None:
        """The last that ``next`` took could not go after all: it waits again, where it was.

        It was never sent, so neither law is to have charged anybody for it.
        """
        self.laws.back(went, now)
        self._leaving.stayed(now)
        self._place_for(went.one).add(went.one)
        self._ends = None

    def prefilled(self, went: Admitted, now: float) -> None:
        """Its first token has come."""
        self.laws.prefilled(went, now)

    def ended(self, went: Admitted, over: Ended, now: float) -> None:
        """It is over, however it went."""
        self.laws.ended(went, over, now)

    def adopt(
        self, version: str, admission: AdmissionLaw[Any], ordering: OrderingLaw[Any], now: float
    ) -> None:
        """Another policy decides from now on; whoever waits stays, and is told to its laws."""
        if version == self.laws.version:
            return
        here = [one for flow in self._flows.values() for one in flow]
        here.sort(key=lambda one: one.request.serial)
        self.laws.adopt(version, admission, ordering, here, now)
        self._held_until = -math.inf

    def forget(self, *, but: frozenset[str]) -> None:
        """Drop the states of versions that no configuration names any more."""
        self.laws.forget(but=but)

    def ahead_of(self, serial: int) -> int:
        """How many that wait came before."""
        return bisect_left(self._serials, serial)

    def wake_at(self) -> float:
        """When to call ``expired`` and ``next`` again if nothing ends: a held one's time, or the
        end of a time to live."""
        return min(self._held_until, self.expires_at())

    def expires_at(self) -> float:
        """When the next time to live ends."""
        if self._ends is None or self._ends[0] is not self.caps:
            ends = (
                flow.head.request.arrived_at + self.caps.ttl_s(band)
                for (band, _), flow in self._flows.items()
            )
            self._ends = self.caps, min(ends, default=math.inf)
        return self._ends[1]

    def _candidates(self, closed: int, broke: set[str]) -> list[Flow]:
        if closed > 2 and not broke:
            return list(self._flows.values())
        return [
            flow
            for (band, tenant), flow in self._flows.items()
            if band < closed and tenant not in broke
        ]

    def _hopeless(self, flows: list[Flow], now: float) -> Waiting | None:
        for flow in flows:
            lost = flow.hopeless(self.laws.ordering, now)
            if lost is not None:
                return lost
        return None

    def _place_for(self, one: Waiting) -> Flow:
        """The flow that it is about to wait in; it is counted."""
        band = one.request.band
        self._bands[band] += 1
        insort(self._serials, one.request.serial)
        flow = self._flows.get((band, one.request.tenant))
        if flow is None:
            flow = self._flows[band, one.request.tenant] = Flow()
            self._ends = self._others = None
        return flow

    def _newest_below(self, band: int) -> Waiting | None:
        for lower in (2, 1):
            if lower <= band or not self._bands[lower]:
                continue
            tails = [flow.tail for (at, _), flow in self._flows.items() if at == lower]
            return max(tails, key=lambda one: one.request.serial)
        return None

    def _remove(self, one: Waiting) -> None:
        key = (one.request.band, one.request.tenant)
        flow = self._flows[key]
        flow.remove(one)
        self._ends = None
        if not flow:
            del self._flows[key]
            self._others = None
        self._bands[key[0]] -= 1
        del self._serials[bisect_left(self._serials, one.request.serial)]

    def _backlog(self) -> Backlog:
        if self._others is None:
            self._others = Backlog.of([flow.head for flow in self._flows.values()])
        return self._others

    def _sent(self, one: Waiting, reason: Reason, now: float, wait: float | None = None) -> Sent:
        """With the law's own time to come back where it knows one, spread by half to each side."""
        ahead = sum(self._bands[: one.request.band + 1])
        if wait is None:
            told = self._leaving.come_back(now, ahead, self._draw(), self.caps.retry_after_cap_s)
        else:
            told = min(wait, self.caps.retry_after_cap_s / 1.5) * (1.0 + 0.5 * self._draw())
        return Sent(one, reason, told)

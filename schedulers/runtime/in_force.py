"""The laws in force in a waiting room, and those that were before: each goes on with its own state.

What a law has let in is its own to the end, whoever decides meanwhile: reservations and accounts go
back to it. But the engine holds all of it, so a law that takes over reserves for what others have
let in as well, as far as it reserves anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from schedulers.admission.base import AdmissionLaw, Answer, Ended, Reservation
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Reason
from schedulers.ordering.base import Backlog, Charge, OrderingLaw, Waiting
from schedulers.request import Request
from schedulers.signals import Signals


@dataclass(frozen=True, slots=True)
class Admitted:
    """Goes to the engine now. Hand it back to ``ended``, once."""

    one: Waiting
    reservation: Reservation
    at: float
    reason: Reason
    version: str = ""
    """Of the policy whose law took it."""
    charge: Charge | None = None
    """What its ordering law has charged for it."""

    @property
    def request(self) -> Request:
        return self.one.request


@dataclass(slots=True)
class _Term:
    """Both laws of one version, with the states that they have."""

    admission: AdmissionLaw[Any]
    ordering: OrderingLaw[Any]
    admitting: Any
    order: Any


@dataclass(slots=True)
class _Flight:
    """What the engine has, and what laws have reserved for it that did not let it in."""

    went: Admitted
    prefilled: bool = False
    guests: dict[str, Reservation] = field(default_factory=dict)
    """By version."""


class InForce:
    """One version decides at a time; ``version`` names it."""

    def __init__(
        self, admission: AdmissionLaw[Any], ordering: OrderingLaw[Any], version: str = ""
    ) -> None:
        self.version = version
        self._now = _Term(admission, ordering, admission.start(), ordering.start())
        self._terms = {version: self._now}
        self._flying: dict[int, _Flight] = {}
        """By serial."""
        self._before: tuple[Any, Any] = (None, None)
        """Both states before the last offer, for who was taken may not go after all."""

    @property
    def admission(self) -> AdmissionLaw[Any]:
        """Who is taken."""
        return self._now.admission

    @property
    def ordering(self) -> OrderingLaw[Any]:
        """Who is next."""
        return self._now.ordering

    @property
    def admitting(self) -> Any:
        """The admission law's state."""
        return self._now.admitting

    @property
    def order(self) -> Any:
        """The ordering law's state."""
        return self._now.order

    def arrived(self, one: Waiting, others: Backlog, now: float) -> None:
        """It has joined those that wait."""
        term = self._now
        term.order = term.ordering.arrived(term.order, one, others, now)

    def offer(self, request: Request, seen: Signals | None, now: float) -> Answer:
        """Ask for one."""
        term = self._now
        self._before = (term.admitting, term.order)
        term.admitting, answer = term.admission.offer(term.admitting, request, seen, now)
        return answer

    def sent(self, one: Waiting, answer: Answer, others: Backlog, now: float) -> Admitted:
        """Who was taken goes, and is charged."""
        term = self._now
        before, law = term.order, term.ordering
        term.order = law.left(before, one, others, now)
        charge = law.charge(before, term.order, one, now)
        went = Admitted(one, answer.reservation, now, answer.reason, self.version, charge)
        self._flying[one.request.serial] = _Flight(went)
        return went

    def back(self, went: Admitted, now: float) -> None:
        """The last that went could not go after all: neither law is to have charged for it."""
        if went.version == self.version:
            del self._flying[went.request.serial]
            self._now.admitting, self._now.order = self._before
            return
        refused = Ended(
            request=went.request,
            reservation=went.reservation,
            admitted_at=went.at,
            kind=OutcomeKind.REJECTED,
            prefilled=False,
        )
        self.ended(went, refused, now)

    def prefilled(self, went: Admitted, now: float) -> None:
        """Its first token has come."""
        flight = self._flying.get(went.request.serial)
        reserved = {went.version: went.reservation}
        if flight is not None:
            flight.prefilled = True
            reserved |= flight.guests
        for version, reservation in reserved.items():
            term = self._terms.get(version)
            if term is not None:
                term.admitting = term.admission.prefilled(term.admitting, reservation, now)

    def ended(self, went: Admitted, over: Ended, now: float) -> None:
        """It is over, however it went; both laws learn, if they took it and still decide.

        Who was refused without service is charged nothing, by whichever law took it.
        """
        flight = self._flying.pop(went.request.serial, None)
        for version, reservation in flight.guests.items() if flight is not None else ():
            self._freed(version, reservation, over, now)
        term = self._now
        if went.version == self.version:
            term.admitting = term.admission.ended(term.admitting, over, now)
        else:
            self._freed(went.version, went.reservation, over, now)
        if over.kind is OutcomeKind.REJECTED and not (over.prefilled or over.output_tokens):
            self._refund(went, now)
        elif went.version == self.version:
            term.order = term.ordering.ended(term.order, went.one, over.output_tokens, now)

    def adopt(
        self,
        version: str,
        admission: AdmissionLaw[Any],
        ordering: OrderingLaw[Any],
        waiting: Sequence[Waiting],
        now: float,
    ) -> None:
        """Another policy decides from now on; it is told who waits and what the engine has.

        Laws that come back go on from the states that they had.
        """
        term = self._terms.get(version)
        if term is None:
            term = _Term(admission, ordering, admission.start(), ordering.start())
            self._terms[version] = term
        term.admission, term.ordering = admission, ordering
        self.version, self._now = version, term
        others = Backlog()
        for one in waiting:
            self.arrived(one, others, now)
            others = others.plus(one)
        for flight in self._flying.values():
            if flight.went.version != version and version not in flight.guests:
                self._reserve(flight, now)

    def forget(self, *, but: frozenset[str]) -> None:
        """Drop the states of versions that no configuration names any more."""
        kept = but | {self.version}
        self._terms = {name: term for name, term in self._terms.items() if name in kept}

    def _reserve(self, flight: _Flight, now: float) -> None:
        """Make room, in the law that decides now, for what another one has let in."""
        term, request = self._now, flight.went.request
        reserved = term.admission.reserve(
            term.admitting, request, prefilled=flight.prefilled, now=now
        )
        if reserved is not None:
            term.admitting, flight.guests[self.version] = reserved

    def _freed(self, version: str, reservation: Reservation, over: Ended, now: float) -> None:
        """A reservation goes back to the law that made it, which learns nothing from it."""
        term = self._terms.get(version)
        if term is not None:
            freed = Ended(
                request=over.request,
                reservation=reservation,
                admitted_at=over.admitted_at,
                kind=OutcomeKind.CANCELLED,
                prefilled=over.prefilled,
            )
            term.admitting = term.admission.ended(term.admitting, freed, now)

    def _refund(self, went: Admitted, now: float) -> None:
        term = self._terms.get(went.version)
        if term is not None and went.charge is not None:
            term.order = term.ordering.refused(term.order, went.one, went.charge, now)

"""What an admission law is: a request is offered, and taken, held back or shed with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar

from documents.registry import Registry
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.law import Law
from schedulers.request import Request
from schedulers.signals import Signals
from schedulers.state import NOTHING


class Action(StrEnum):
    """What becomes of an offered request."""

    ADMIT = "admit"
    HOLD = "hold"
    """It keeps its place in the host's queue, and is offered again."""
    SHED = "shed"
    """Refused for good, with a time to come back."""


class Reservation(NamedTuple):
    """What an admitted request was charged: the host hands it back when the request ends."""

    tokens: float = 0.0
    variance: float = 0.0
    """Of the tokens, squared."""
    prefill: float = 0.0
    """Prompt tokens still to be computed."""


class Answer(NamedTuple):
    """``until``: when to ask again if nothing ends, for what is held. ``retry_after_s`` is the
    middle of what to tell whoever is shed; the host spreads it, or all would come back at once."""

    action: Action
    reason: Reason
    reservation: Reservation = Reservation()
    retry_after_s: float | None = None
    until: float = math.inf
    inputs: Mapping[str, float | None] = NOTHING


class Ended(NamedTuple):
    """An admitted request is over; ``late`` says that its objective was missed, None: unknown."""

    request: Request
    reservation: Reservation
    admitted_at: float
    kind: OutcomeKind = OutcomeKind.OK
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    prefilled: bool = True
    """Its first token had come: ``prefilled`` was told of it."""
    late: bool | None = None


S = TypeVar("S")


class AdmissionLaw(Law, Protocol[S]):
    """Pure functions over a frozen, JSON-able state that the host keeps.

    A request is offered when it comes and, while held, again when something ends or ``until`` has
    come. Each ADMIT is followed by one ``ended``, and by ``prefilled`` at its first token, if any.
    """

    def start(self) -> S:
        """The state before anything was seen."""
        ...

    def offer(
        self, state: S, request: Request, seen: Signals | None, now: float
    ) -> tuple[S, Answer]:
        """Take it, hold it or shed it."""
        ...

    def reserve(
        self, state: S, request: Request, *, prefilled: bool, now: float
    ) -> tuple[S, Reservation] | None:
        """The engine has it already, let in by another law: count it as if it had been taken,
        whatever there is room for. It ends as any other, cancelled. None: nothing to count."""
        ...

    def prefilled(self, state: S, reservation: Reservation, now: float) -> S:
        """An admitted request has its first token."""
        ...

    def ended(self, state: S, over: Ended, now: float) -> S:
        """An admitted request is over, however it went."""
        ...


class Unmoved:
    """For laws that learn nothing from what they have admitted."""

    __slots__ = ()

    def reserve(
        self, state: Any, request: Request, *, prefilled: bool, now: float
    ) -> tuple[Any, Reservation] | None:
        return None

    def prefilled(self, state: Any, reservation: Reservation, now: float) -> Any:
        return state

    def ended(self, state: Any, over: Ended, now: float) -> Any:
        return state


laws: Registry[AdmissionLaw[Any]] = Registry("schedulers.admission", "admission law")

C = TypeVar("C", bound=type[AdmissionLaw[Any]])


def admission_law(cls: C) -> C:
    """Register a law; the type checker holds the class to the protocol."""
    laws.add(cls.name, cls)
    return cls


def admit(reason: Reason = Reason.ADMITTED, /, **inputs: float | None) -> Answer:
    """Taken, with nothing reserved."""
    return Answer(action=Action.ADMIT, reason=reason, inputs=inputs)


def hold(reason: Reason, until: float = math.inf, /, **inputs: float | None) -> Answer:
    """Held back until something ends, or until then."""
    return Answer(action=Action.HOLD, reason=reason, until=until, inputs=inputs)


def shed(reason: Reason, retry_after_s: float, /, **inputs: float | None) -> Answer:
    """Refused; NaN and less than nothing become the least wait that means something."""
    wait = retry_after_s if math.isfinite(retry_after_s) else 60.0
    return Answer(action=Action.SHED, reason=reason, retry_after_s=max(0.05, wait), inputs=inputs)


def decided(law: Law, request: Request, answer: Answer, now: float) -> Decision:
    """An answer as a line of the controller trace: tokens asked, tokens let in."""
    asked = request.prompt_tokens + request.output()
    return Decision(
        at=now,
        point=DecisionPoint.ADMISSION,
        law=law.name,
        before=asked,
        after=asked if answer.action is Action.ADMIT else 0.0,
        reason=answer.reason,
        inputs={"shed": float(answer.action is Action.SHED), **answer.inputs},
    )

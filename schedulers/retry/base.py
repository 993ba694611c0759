"""What a retry law is: a request has failed; is it sent again, and after how long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from documents.registry import Registry
from schedulers.concurrency.base import OutcomeKind
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.law import Law
from schedulers.retry_budget import RetryBudget

RETRYABLE = (OutcomeKind.REJECTED, OutcomeKind.TIMED_OUT, OutcomeKind.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A request failed. ``attempts`` counts those made up to now, so it is 1 after the first."""

    kind: OutcomeKind
    attempts: int
    retry_after: float | None = None
    """Seconds that the engine asked to wait."""
    previous_wait: float | None = None
    """Seconds that this request waited before its last attempt."""
    deadline_at: float | None = None
    safe: bool = True
    """Sending it again does no harm: nothing of an answer was handed on."""

    @property
    def floor(self) -> float:
        """Retry-After where it is a time; nonsense counts as not said."""
        value = self.retry_after
        return value if value is not None and math.isfinite(value) and value > 0.0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``wait_s`` None: not again."""

    wait_s: float | None
    reason: Reason
    inputs: Mapping[str, float | None] = field(default_factory=dict)


S = TypeVar("S")


class RetryLaw(Law, Protocol[S]):
    """Pure functions over a frozen, JSON-able state; chance comes in as ``draw``, from [0, 1)."""

    def start(self) -> S:
        """The state before anything was seen."""
        ...

    def offered(self, state: S, draw: float, now: float) -> tuple[S, Reason | None]:
        """A new request is about to be sent; a reason where the law refuses it itself."""
        ...

    def succeeded(self, state: S, now: float) -> S:
        """An attempt has succeeded."""
        ...

    def failed(self, state: S, failure: Failure, draw: float, now: float) -> tuple[S, Verdict]:
        """An attempt has failed."""
        ...


laws: Registry[RetryLaw[Any]] = Registry("schedulers.retry", "retry law")

C = TypeVar("C", bound=type[RetryLaw[Any]])


def retry_law(cls: C) -> C:
    """Register a law; the type checker holds the class to the protocol."""
    laws.add(cls.name, cls)
    return cls


def never(reason: Reason, **inputs: float | None) -> Verdict:
    """Not again."""
    return Verdict(wait_s=None, reason=reason, inputs=inputs)


@dataclass(frozen=True, slots=True)
class Rules:
    """What laws ask before they retry: harm, attempts, deadline, budget. The state: the budget."""

    base_ms: float = parameter(
        default=500.0,
        minimum=1.0,
        maximum=600_000.0,
        unit="ms",
        help="The scale of the first wait.",
    )
    cap_ms: float = parameter(
        default=30_000.0,
        minimum=1.0,
        maximum=3_600_000.0,
        unit="ms",
        help="What a wait is never drawn above, Retry-After aside.",
    )
    retry_after_cap_s: float = parameter(
        default=30.0,
        minimum=0.0,
        maximum=3600.0,
        unit="s",
        help="What Retry-After is cut to: one bad value must not stop an hour.",
    )
    budget: float = parameter(
        default=0.1, minimum=0.0, maximum=1.0, help="Retries for each request that is offered."
    )
    reserve: float = parameter(
        default=10.0,
        minimum=0.0,
        maximum=10_000.0,
        unit="retries",
        help="Retries that are there at first, and the most that is saved up.",
    )
    max_attempts: int = parameter(
        default=6, minimum=1, maximum=100, unit="attempts", help="Attempts of one request, at most."
    )

    def __post_init__(self) -> None:
        if self.base_ms > self.cap_ms:
            message = f"must not be above cap_ms ({self.cap_ms:g} ms)"
            raise DocumentError([Problem("base_ms", self.base_ms, message)])

    def start(self) -> RetryBudget:
        return RetryBudget()

    def offered(
        self,
        state: RetryBudget,
        draw: float,
        now: float,
    ) -> tuple[RetryBudget, Reason | None]:
        return state.earned(self.budget, self.reserve), None

    def succeeded(self, state: RetryBudget, now: float) -> RetryBudget:
        return state

    def checked(
        self, state: RetryBudget, failure: Failure, drawn: float, now: float
    ) -> tuple[RetryBudget, Verdict]:
        """``drawn`` seconds on top of Retry-After, if nothing speaks against it."""
        if failure.kind not in RETRYABLE or not failure.safe:
            return state, never(Reason.NOT_RETRYABLE)
        if failure.attempts >= self.max_attempts:
            return state, never(Reason.ATTEMPTS_SPENT)
        wait = min(failure.floor, self.retry_after_cap_s) + drawn
        if failure.deadline_at is not None and not now + wait < failure.deadline_at:
            return state, never(Reason.PAST_DEADLINE, wait=wait)
        after = state.spent(self.reserve)
        if after is None:
            return state, never(Reason.RETRY_BUDGET, left=state.held(self.reserve))
        return after, Verdict(wait_s=wait, reason=Reason.RETRIED, inputs={"left": after.tokens})


def decided(law: Law, failure: Failure, verdict: Verdict, now: float) -> Decision:
    """A verdict as a line of the controller trace: attempts made, attempts there will be."""
    again = verdict.wait_s is not None
    return Decision(
        at=now,
        point=DecisionPoint.RETRY,
        law=law.name,
        before=float(failure.attempts),
        after=float(failure.attempts + again),
        reason=verdict.reason,
        inputs={"wait_s": verdict.wait_s, **verdict.inputs},
    )

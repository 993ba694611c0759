"""What a batching law is: the engine is about to step; what may the step hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from documents.registry import Registry
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.law import Law

MOST_TOKENS = 1_048_576
MOST_SEQUENCES = 16_384
LEAST_WAIT_S = 1e-6
"""Shorter than that no clock can wait: added to a day in seconds, 1e-12 is nothing at all, and a
host that asks again after it asks for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What an engine holds before a step. Tokens, and seconds on the engine's clock."""

    decoding: int = 0
    """Sequences that decode: one token each."""
    prefilling: int = 0
    """Sequences whose prompt has begun and isn't computed yet."""
    prefill_tokens: int = 0
    """Their prompt tokens still to be computed."""
    waiting: int = 0
    """Sequences that have not begun."""
    waiting_tokens: int = 0
    """Their prompt tokens."""
    context_tokens: int = 0
    """Tokens of context that decoding reads."""
    oldest_wait: float = 0.0
    """How long the first of the waiting has waited."""
    arrival_rate: float | None = None
    """Requests a second of late, as the host measures them."""
    least_slack: float | None = None
    """Seconds that the most urgent of the waiting can lose."""

    @property
    def idle(self) -> bool:
        """Nothing has begun."""
        return self.decoding == 0 and self.prefilling == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What one step may hold; the engine decodes first and prefills with the rest."""

    reason: Reason
    token_budget: int
    """Tokens at most, those of decoding included."""
    max_sequences: int
    """Sequences running at most, those that have begun included."""
    admit_waiting: bool = True
    """Whether sequences that wait may begin."""
    wait_s: float = 0.0
    """How long to wait before the step, asking again if something arrives: 0, or at least
    LEAST_WAIT_S."""
    padded_to: int | None = None
    """Decoding sequences that the step computes for, where a graph of that size runs it."""
    inputs: Mapping[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """ValueError where waiting wouldn't move a clock, or would move it for ever."""
        if self.wait_s != 0.0 and not LEAST_WAIT_S <= self.wait_s < math.inf:
            raise ValueError(
                f"wait_s {self.wait_s!r}: must be 0 or at least {LEAST_WAIT_S:g} (worth_waiting)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTaken:
    """What a step held, and how long it took."""

    decoding: int
    prefill_tokens: int
    context_tokens: int
    seconds: float


def worth_waiting(seconds: float) -> float:
    """What is left of a wait, as a plan takes it: 0 where no clock could tell it from none."""
    return seconds if seconds >= LEAST_WAIT_S else 0.0


S = TypeVar("S")


class BatchingLaw(Law, Protocol[S]):
    """Pure functions over a frozen, JSON-able state; asked at every engine step."""

    def start(self) -> S:
        """The state before anything was seen."""
        ...

    def plan(self, state: S, seen: Load, now: float) -> StepPlan:
        """What the next step may hold."""
        ...

    def stepped(self, state: S, taken: StepTaken, now: float) -> S:
        """Learn what a step cost."""
        ...


class Unlearning:
    """For laws that learn nothing from what a step cost."""

    __slots__ = ()

    def start(self) -> None:
        return None

    def stepped(self, state: None, taken: StepTaken, now: float) -> None:
        return state


laws: Registry[BatchingLaw[Any]] = Registry("schedulers.batching", "batching law")

C = TypeVar("C", bound=type[BatchingLaw[Any]])


def batching_law(cls: C) -> C:
    """Register a law; the type checker holds the class to the protocol."""
    laws.add(cls.name, cls)
    return cls


def decided(law: Law, seen: Load, plan: StepPlan, now: float) -> Decision:
    """A plan as a line of the controller trace: tokens at hand, tokens that the step may hold."""
    at_hand = seen.decoding + seen.prefill_tokens + seen.waiting_tokens
    return Decision(
        at=now,
        point=DecisionPoint.BATCHING,
        law=law.name,
        before=at_hand,
        after=min(at_hand, plan.token_budget) if plan.wait_s == 0.0 else 0.0,
        reason=plan.reason,
        inputs={"wait_s": plan.wait_s, **plan.inputs},
    )

"""What a concurrency law is: observations in, a limit out, over a frozen state the caller keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from documents.problem import DocumentError, Problem
from documents.registry import Registry
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.law import Law

SIGNALS = ("ttft", "e2e")
"""Which latency a law may follow: time to first token, or the whole request."""

LIMIT_CEILING = 65_536
"""The largest limit that any law may be given."""


class OutcomeKind(StrEnum):
    """What a finished request says about load; hosts sort their outcomes into these."""

    OK = "ok"
    REJECTED = "rejected"
    """The engine said that it has too much: 429 or 503."""
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    """Anything else went wrong: it tells nothing about load."""
    CANCELLED = "cancelled"
    """Given up by us: it tells nothing about load."""
    FIRST_TOKEN = "first_token"  # noqa: S105 - of an answer
    """No request ended: the first token of a streamed answer came; ``ttft`` says after how long."""
    TICK = "tick"
    """No request ended: the time came that the law had named in ``until``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoad:
    """What a host of agents sees of their contexts. Tokens; counts are since the last time.

    An agent is active from its admission to its end, whether it thinks, waits for a tool or
    stands in the engine's queue; a paused one is not.
    """

    active: int
    contexts: float
    """Tokens in the contexts of the active ones."""
    kv_tokens: int
    """Tokens that the KV cache holds."""
    next_context: float | None = None
    """The context of whoever would be admitted or resumed next; None: nobody waits."""
    kv_used: float | None = None
    """Share of the KV cache that holds contexts, 0 to 1."""
    hit_rate: float | None = None
    """Share of prompt tokens that were found in the cache."""
    evicted: int = 0
    """Contexts that were thrown out."""
    turns: int = 0
    """Turns that began."""
    grown: float | None = None
    """Tokens by which a context grows in one turn, in the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One finished request, or one whose answer began (``FIRST_TOKEN``), as the limiter saw it.

    Times are seconds on the limiter's clock.

    Between two releases the count only rises, so ``in_flight`` (just before this release, this
    one included) is the peak since the observation before.
    """

    started_at: float
    in_flight: int
    kind: OutcomeKind = OutcomeKind.OK
    latency: float | None = None
    ttft: float | None = None
    waiting: int = 0
    """Requests that waited for a permit at the release."""
    serial: int = 0
    """The permit's number, counted from 1 in the order of granting: cohorts are ranges of it."""
    granted: int = 0
    """Permits granted up to now: the serial of the newest."""
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    retry_after: float | None = None
    told: bool = False
    """Of a finished one: its first token was told of when it came."""
    agents: AgentLoad | None = None
    """For laws that count agents, on whatever ends and on ticks; other hosts leave it out."""

    def measured(self, signal: str) -> float | None:
        """The latency a law follows, or None when it is no positive finite number.

        An answer that was not streamed shows its first token when it ends, so the end to end
        time stands in for a missing time to first token.
        """
        value = self.ttft if signal == "ttft" and self.ttft is not None else self.latency
        return value if value is not None and math.isfinite(value) and value > 0.0 else None

    def in_order(self, now: float) -> bool:
        """False when the clock went backward or is no number: nothing can be learned then."""
        return math.isfinite(now) and math.isfinite(self.started_at) and self.started_at <= now


S = TypeVar("S")


class ConcurrencyLaw(Law, Protocol[S]):
    """Pure functions over a state value: frozen, JSON-able (schedulers.state), kept by the host."""

    def start(self) -> S:
        """The state before anything was seen."""
        ...

    def step(self, state: S, seen: Observation, now: float) -> tuple[S, Decision | None]:
        """Learn from one observation; a Decision where the law concluded something."""
        ...

    def limit(self, state: S) -> int:
        """How many requests may be in flight."""
        ...

    def until(self, state: S) -> float:
        """Until when the limit holds if nothing ends; infinity when only observations move it."""
        ...

    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest limit that this law can give."""
        ...


laws: Registry[ConcurrencyLaw[Any]] = Registry("schedulers.concurrency", "concurrency law")

C = TypeVar("C", bound=type[ConcurrencyLaw[Any]])


def concurrency_law(cls: C) -> C:
    """Register a law; the type checker holds the class to the protocol."""
    laws.add(cls.name, cls)
    return cls


def check_bounds(least: int, initial: int, most: int) -> None:
    """Refuse a law whose ``min``, ``initial`` and ``max`` are not in that order."""
    if least > most:
        raise DocumentError([Problem("min", least, f"must not be above max ({most} requests)")])
    if not least <= initial <= most:
        message = f"must not be outside min and max ({least} to {most} requests)"
        raise DocumentError([Problem("initial", initial, message)])


def decided(
    law: Law,
    now: float,
    before: float,
    after: float,
    reason: Reason,
    **inputs: float | None,
) -> Decision:
    """A Decision about the limit; the limit's exact value joins the inputs as ``exact``."""
    return Decision(
        at=now,
        point=DecisionPoint.CONCURRENCY,
        law=law.name,
        before=int(before),
        after=int(after),
        reason=reason,
        inputs={"exact": after, **inputs},
    )

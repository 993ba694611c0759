"""Agents by reservation: admit while every context and its growth fit; the law for agents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from schedulers.concurrency.base import (
    LIMIT_CEILING,
    AgentLoad,
    Observation,
    check_bounds,
    concurrency_law,
    decided,
)
from schedulers.decision import Decision, Reason
from schedulers.law import Fault, Standing


@dataclass(frozen=True, slots=True)
class AgentState:
    """``grown``: tokens by which a context grows in a turn, learned."""

    limit: int
    grown: float | None = None


@concurrency_law
@dataclass(frozen=True, slots=True)
class KvReserveAgents:
    """With c the contexts of n active agents, g their growth a turn (a moving mean), m turns ahead
    and K the tokens of the KV cache::

        Σc + ½ m g n + (c_next + ½ m g) ≤ target × K     one more may be active: N ← n + 1
        Σc + ½ m g n > hard × K                          N ← n × hard × K / that, at most n − 1:
                                                         the newest pause at their next tool call;
                                                         the oldest resumes first
        else                                             N ← n

    Nothing is tried out: what the agents will hold is known, so there is no collapse to learn from.
    """

    name: ClassVar[str] = "kv_reserve_agents"
    summary: ClassVar[str] = (
        "Admits one more agent while all contexts and their growth over the next turns fit in "
        "the KV "
        "cache, and pauses the newest when they no longer do."
    )
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Without a host's agent load, that is for plain requests, it stands at its initial "
            "limit."
        ),
        Fault(
            "Contexts that share a prefix are counted once each, so it admits fewer than would fit."
        ),
    )

    min: int = parameter(
        default=1, minimum=1, maximum=LIMIT_CEILING, unit="agents", help="The lowest limit."
    )
    max: int = parameter(
        default=1024, minimum=1, maximum=LIMIT_CEILING, unit="agents", help="The highest limit."
    )
    initial: int = parameter(
        default=8,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="agents",
        help="The limit before anything was seen; between min and max.",
    )
    target: float = parameter(
        default=0.90, minimum=0.5, maximum=0.98, help="Share of the KV cache to fill."
    )
    hard: float = parameter(
        default=0.96, minimum=0.5, maximum=1.0, help="Share from which the newest pauses."
    )
    horizon: float = parameter(
        default=2.0, minimum=0.0, maximum=8.0, unit="turns", help="How far growth is looked ahead."
    )
    growth: float = parameter(
        default=800.0,
        minimum=0.0,
        maximum=1e6,
        unit="tokens/turn",
        help="Growth that is assumed before any was seen.",
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)
        if self.target > self.hard:
            message = f"must not be above hard ({self.hard})"
            raise DocumentError([Problem("target", self.target, message)])

    def start(self) -> AgentState:
        return AgentState(self.initial)

    def step(
        self, state: AgentState, seen: Observation, now: float
    ) -> tuple[AgentState, Decision | None]:
        load = seen.agents
        if not seen.in_order(now) or load is None or not _sound(load):
            return state, None
        grown = self.growth if state.grown is None else state.grown
        if load.grown is not None and math.isfinite(load.grown) and load.grown >= 0.0:
            grown += 0.1 * (load.grown - grown)
        after, reason = self._wanted(load, grown)
        after = max(self.min, min(self.max, after))
        found = AgentState(after, grown)
        if after == state.limit:
            return found, None
        decision = decided(
            self,
            now,
            state.limit,
            after,
            reason,
            contexts=load.contexts,
            grown=grown,
            active=float(load.active),
        )
        return found, decision

    def _wanted(self, load: AgentLoad, grown: float) -> tuple[int, Reason]:
        ahead = 0.5 * self.horizon * grown
        held = load.contexts + ahead * load.active
        if held > self.hard * load.kv_tokens:
            fits = int(load.active * self.hard * load.kv_tokens / held)
            return min(load.active - 1, fits), Reason.KV_CEILING
        if load.next_context is None:
            return load.active, Reason.APP_LIMITED
        if held + load.next_context + ahead <= self.target * load.kv_tokens:
            return load.active + 1, Reason.ROOM_FOR_MORE
        return load.active, Reason.KV_CEILING

    def limit(self, state: AgentState) -> int:
        return state.limit

    def until(self, state: AgentState) -> float:  # noqa: ARG002
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max


def _sound(load: AgentLoad) -> bool:
    numbers = (load.contexts, load.next_context or 0.0)
    return (
        load.kv_tokens > 0
        and load.active >= 0
        and all(math.isfinite(n) and n >= 0 for n in numbers)
    )

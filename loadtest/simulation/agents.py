"""The door for laws that count agents: an agent is let in, goes on turn by turn, and may pause.

An agent is active from its admission to its end, whether it thinks, waits for a tool or stands in
the engine's queue. Over the limit the newest pause as their tool comes back; the oldest paused one
resumes first, before anybody new. The rules are those of ``simulator.plants.agents``.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any

from documents.fields import describe
from loadtest.simulation.agent_load import AgentGauge
from loadtest.simulation.host import Door
from loadtest.simulation.limiter import Grant
from loadtest.simulation.sessions import Session, SessionFeed
from measurement.sample import Sample
from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind
from schedulers.decision import Decision
from schedulers.runtime.limiter import Permit

UNIT = "agents"


def counts_agents(law: ConcurrencyLaw[Any]) -> bool:
    """Whether a law's limit is of agents: its parameters say so."""
    return any(info.name == "max" and info.unit == UNIT for info in describe(type(law)))


class AgentDoor:
    """Agents are the sessions of the feed."""

    def __init__(
        self,
        law: ConcurrencyLaw[Any],
        feed: SessionFeed,
        gauge: AgentGauge,
        grant: Grant,
        on_decision: Callable[[Decision], None],
        cost_clock: Callable[[], float],
    ) -> None:
        self._law, self._state = law, law.start()
        self._feed, self._gauge = feed, gauge
        self._grant, self._on_decision, self._cost_clock = grant, on_decision, cost_clock
        self.inner: Door | None = None
        """A door behind this one, through which each turn goes as well."""
        feed.over = self._over
        self._active: OrderedDict[int, Session] = OrderedDict()
        self._paused: dict[int, Session] = {}
        self._new: OrderedDict[int, Session] = OrderedDict()
        self._admitted: dict[int, int] = {}
        """In which order agents came in, by their number."""
        self._serial = count()
        self._names: dict[int, int] = {}
        """Of whom a turn waits here: which."""
        self._inside: set[int] = set()
        """Who has a turn behind this door."""
        self.limit = law.limit(self._state)
        self.until = law.until(self._state)
        self._granted = self.decisions = self.steps = 0
        self.deciding_seconds = 0.0

    @property
    def rings_at(self) -> float:
        """When the law is to be asked again, as long as there are agents."""
        inner = math.inf if self.inner is None else self.inner.rings_at
        return min(inner, self.until if self._active or self._new or self._paused else math.inf)

    def acquire(self, name: int, now: float) -> None:
        """A turn comes: it goes on, or its agent pauses, or waits to be let in."""
        agent = self._feed.session(name)
        number = agent.number
        self._names[number] = name
        if number not in self._active:
            self._new[number] = agent
        elif number in self._newest_over():
            self._paused[number] = self._active.pop(number)
        else:
            self._go(agent, now)
        self._ask(now)
        self._pump(now)

    def first_token(self, name: int, permit: Permit, now: float, ttft: float) -> None:
        """Laws for agents learn nothing from it."""
        if self.inner is not None:
            self.inner.first_token(name, permit, now, ttft)

    def leave(self, name: int, now: float) -> None:
        """Who waited doesn't any more; its agent ends with it, of which ``over`` tells."""
        self._inside.discard(self._feed.session(name).number)
        if self.inner is not None:
            self.inner.leave(name, now)

    def release(self, permit: Permit, now: float, kind: OutcomeKind, sample: Sample) -> None:
        """A turn is over: the law learns, and others may be let in."""
        agent = self._feed.session(sample.index)
        self._inside.discard(agent.number)
        agent.context += sample.output_tokens or 0
        if self.inner is not None:
            self.inner.release(permit, now, kind, sample)
        self._ask(now, kind, permit.granted_at)
        self._pump(now)

    def ring(self, now: float) -> None:
        """The time has come that ``rings_at`` named."""
        if self.inner is not None and self.inner.rings_at <= now:
            self.inner.ring(now)
        if self.until <= now:
            self._ask(now)
        self._pump(now)

    def _over(self, agent: Session, now: float) -> None:
        """An agent is through its turns, or gave up."""
        for held in (self._active, self._paused, self._new, self._names, self._admitted):
            held.pop(agent.number, None)
        self._ask(now)
        self._pump(now)

    def _pump(self, now: float) -> None:
        while len(self._active) < self.limit and (agent := self._next()) is not None:
            self._paused.pop(agent.number, None)
            self._new.pop(agent.number, None)
            self._admitted.setdefault(agent.number, next(self._serial))
            self._active[agent.number] = agent
            self._go(agent, now)
            self._ask(now)

    def _next(self) -> Session | None:
        """The oldest that pauses, else who waits to be let in first."""
        if self._paused:
            return self._paused[min(self._paused, key=self._admitted.__getitem__)]
        return next(iter(self._new.values()), None)

    def _newest_over(self) -> list[int]:
        """Whom the limit has no place for."""
        excess = len(self._active) - self.limit
        return sorted(self._active, key=self._admitted.__getitem__)[-excess:] if excess > 0 else []

    def _go(self, agent: Session, now: float) -> None:
        name = self._names.pop(agent.number)
        self._inside.add(agent.number)
        self._gauge.began(agent)
        self._granted += 1
        if self.inner is not None:
            self.inner.acquire(name, now)
        else:
            self._grant(name, Permit(self._granted, now, len(self._inside)))

    def _ask(
        self, now: float, kind: OutcomeKind = OutcomeKind.TICK, started_at: float | None = None
    ) -> None:
        everyone = [*self._active.values(), *self._paused.values()]
        idle = [agent for agent in everyone if agent.number not in self._inside]
        seen = Observation(
            started_at=now if started_at is None else started_at,
            in_flight=len(self._active),
            kind=kind,
            waiting=len(self._paused) + len(self._new),
            agents=self._gauge.load(self._active.values(), idle, self._next()),
        )
        due = self.until <= now or self.until == math.inf
        began = self._cost_clock()
        self._state, decision = self._law.step(self._state, seen, now)
        self.limit, self.until = self._law.limit(self._state), self._law.until(self._state)
        self.deciding_seconds += self._cost_clock() - began
        self.steps += 1
        if due:
            self._gauge.concluded()
        if decision is not None:
            self.decisions += 1
            self._on_decision(decision)

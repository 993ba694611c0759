"""The agents plant: batch agents whose contexts grow each turn, and a KV cache that they fill.

A fluid model in steps of 50 ms. A turn computes what of its context is not in the cache, says its
answer, and waits for a tool; the tool's result joins the context. Idle contexts stay in the cache
until room is needed, the longest unused going first, whole. With nothing idle left, the turn that
was admitted last is thrown out and begins anew.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedulers.concurrency.base import AgentLoad, ConcurrencyLaw, Observation, OutcomeKind

STEP_S = 0.05
KV_TOKENS = 400_000
PREFILL_RATE = 8000.0
PREFILL_SHARE = 0.7
"""Of a step, while others decode."""
BASE_S, PER_SEQUENCE_S = 0.020, 0.0003
MAX_RUNNING = 128
FIRST_CONTEXT = 2000.0
ASK_S = 1.0
"""How often the law is asked when nothing ends."""


@dataclass(frozen=True, slots=True)
class AgentsEngine:
    """Memory in tokens, prompt tokens a second, and a step's seconds: alone, and each one more."""

    kv_tokens: int = KV_TOKENS
    prefill_rate: float = PREFILL_RATE
    base_s: float = BASE_S
    per_sequence_s: float = PER_SEQUENCE_S


@dataclass(slots=True, eq=False)
class Agent:
    """``cached`` tokens of its ``context`` are in the KV cache."""

    turns: int
    turn: int = 0
    context: float = FIRST_CONTEXT
    cached: float = 0.0
    used_at: float = 0.0
    admitted_at: float = 0.0
    prefill: float = 0.0
    saying: float = 0.0
    tool_until: float = 0.0
    fresh: float = FIRST_CONTEXT
    """Tokens that joined its context since its last turn: they were never in the cache."""
    began: float = FIRST_CONTEXT
    """Its context at the start of the turn."""
    idle: bool = True


@dataclass(slots=True)
class Tally:
    """Counts since the last asking, or of the whole run."""

    said: float = 0.0
    prompt: float = 0.0
    hit: float = 0.0
    again: float = 0.0
    evicted: int = 0
    turns: int = 0
    grown: float = 0.0


@dataclass
class AgentsRun:
    """One batch of agents under one law; ``free_until``: the law isn't obeyed before."""

    law: ConcurrencyLaw[Any]
    seed: int
    agents: int = 100
    free_until: float = 0.0
    engine: AgentsEngine = AgentsEngine()
    now: float = 0.0
    total: Tally = field(default_factory=Tally)
    since: Tally = field(default_factory=Tally)
    said_at: list[tuple[float, float]] = field(default_factory=list)
    """(time, tokens said up to then), once a second."""
    kv_at: list[float] = field(default_factory=list)
    """Share of the KV cache in use, at the same times."""
    active_at: list[int] = field(default_factory=list)
    """Agents that were active, at the same times."""
    most_paused_s: float = 0.0

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        turns = np.clip(np.round(self._rng.normal(20.0, 5.0, self.agents)), 8, 32)
        self._new = deque(Agent(turns=int(n)) for n in turns)
        self._active: list[Agent] = []
        self._paused: deque[Agent] = deque()
        self._ready: deque[Agent] = deque()
        self._prefilling: deque[Agent] = deque()
        self._decoding: list[Agent] = []
        self._kv = 0.0
        self._state = self.law.start()
        self._ask_at = 0.0

    def go(self, end_s: float) -> None:
        """Run until all agents are done, or until then."""
        while self.now < end_s and (self._new or self._active or self._paused):
            self._admit()
            self._begin_turns()
            share = self._prefill()
            self._decode(1.0 - share)
            self._tools()
            self.now += STEP_S
            if self.now >= self._ask_at:
                self._ask_at += ASK_S
                self._ask()
                self.said_at.append((self.now, self.total.said))
                self.active_at.append(len(self._active))
                self.kv_at.append(self._kv / self.engine.kv_tokens)

    @property
    def limit(self) -> int:
        """Agents that may be active now."""
        return self.agents if self.now < self.free_until else self.law.limit(self._state)

    def _ask(self) -> None:
        """Counts are those since the last time that the law concluded something from them."""
        waits = self._paused[0] if self._paused else (self._new[0] if self._new else None)
        since = self.since
        load = AgentLoad(
            active=len(self._active),
            contexts=sum(agent.context for agent in self._active),
            kv_tokens=self.engine.kv_tokens,
            next_context=None if waits is None else waits.context,
            kv_used=self._kv / self.engine.kv_tokens,
            hit_rate=since.hit / since.prompt if since.prompt else None,
            evicted=since.evicted,
            turns=since.turns,
            grown=since.grown / since.turns if since.turns else None,
        )
        seen = Observation(
            started_at=self.now, in_flight=len(self._active), kind=OutcomeKind.TICK, agents=load
        )
        due = self.law.until(self._state) <= self.now or self.law.until(self._state) == math.inf
        self._state, _ = self.law.step(self._state, seen, self.now)
        if due:
            self.since = Tally()

    def _admit(self) -> None:
        while len(self._active) < self.limit and (self._paused or self._new):
            if self._paused:
                agent = self._paused.popleft()
                self.most_paused_s = max(self.most_paused_s, self.now - agent.tool_until)
            else:
                agent = self._new.popleft()
                agent.admitted_at = self.now
            self._active.append(agent)
            self._ready.append(agent)
            if self.now >= self.free_until:
                self._ask()

    def _room(self, tokens: float) -> bool:
        """Throw out idle contexts, the longest unused first, until so many tokens fit."""
        if self._kv + tokens <= self.engine.kv_tokens:
            return True
        idle = [a for a in (*self._active, *self._paused) if a.idle and a.cached > 0.0]
        for agent in sorted(idle, key=lambda one: one.used_at):
            self._kv -= agent.cached
            agent.cached = 0.0
            self._both("evicted", 1)
            if self._kv + tokens <= self.engine.kv_tokens:
                return True
        return False

    def _begin_turns(self) -> None:
        while self._ready and len(self._decoding) + len(self._prefilling) < MAX_RUNNING:
            agent = self._ready[0]
            agent.idle = False
            missing = agent.context - agent.cached
            if not self._room(missing):
                agent.idle = True
                return
            self._ready.popleft()
            self._both("turns", 1)
            self._both("prompt", agent.context)
            self._both("hit", agent.cached)
            self._both("grown", agent.context - agent.began if agent.turn else 0.0)
            self._both("again", max(0.0, missing - agent.fresh))
            self._kv += missing
            agent.cached = agent.began = agent.context
            agent.fresh, agent.prefill = 0.0, missing
            self._prefilling.append(agent)

    def _prefill(self) -> float:
        """Compute prompts; the share of the step that it took."""
        budget = self.engine.prefill_rate * STEP_S * (PREFILL_SHARE if self._decoding else 1.0)
        left = budget
        while self._prefilling and left > 0.0:
            agent = self._prefilling[0]
            done = min(agent.prefill, left)
            agent.prefill -= done
            left -= done
            if agent.prefill <= 0.0:
                self._prefilling.popleft()
                said = self._rng.lognormal(math.log(200.0), 0.4)
                agent.saying = float(min(1000.0, max(20.0, said)))
                self._decoding.append(agent)
        return (budget - left) / (self.engine.prefill_rate * STEP_S)

    def _decode(self, share: float) -> None:
        if not self._decoding:
            return
        each = (
            share * STEP_S / (self.engine.base_s + self.engine.per_sequence_s * len(self._decoding))
        )
        for agent in self._decoding:
            agent.saying -= each
            agent.context += each
            agent.cached += each
        self._kv += each * len(self._decoding)
        self._both("said", each * len(self._decoding))
        while not self._room(0.0) and self._decoding:
            self._throw_out(max(self._decoding, key=lambda one: one.admitted_at))
        for agent in [one for one in self._decoding if one.saying <= 0.0]:
            self._decoding.remove(agent)
            self._said(agent)

    def _throw_out(self, agent: Agent) -> None:
        self._decoding.remove(agent)
        self._kv -= agent.cached
        agent.cached, agent.idle = 0.0, True
        self._ready.appendleft(agent)
        self._both("evicted", 1)

    def _said(self, agent: Agent) -> None:
        agent.turn += 1
        agent.used_at, agent.idle = self.now, True
        if agent.turn >= agent.turns:
            self._kv -= agent.cached
            agent.cached = 0.0
            self._active.remove(agent)
        else:
            agent.tool_until = self.now + float(self._rng.exponential(4.0))

    def _tools(self) -> None:
        """Tools come back; the newest above the limit pause there, the others go on."""
        back = [
            agent
            for agent in self._active
            if agent.turn
            and agent.idle
            and 0.0 < agent.tool_until <= self.now
            and agent not in self._ready
        ]
        for agent in back:
            result = float(max(50.0, self._rng.lognormal(math.log(600.0), 0.6)))
            agent.context += result
            agent.fresh = result
            excess = len(self._active) - self.limit
            newest = sorted(self._active, key=lambda one: one.admitted_at)[-excess:]
            if excess > 0 and agent in newest:
                self._active.remove(agent)
                self._paused.append(agent)
                self._paused = deque(sorted(self._paused, key=lambda one: one.admitted_at))
                agent.tool_until = self.now
            else:
                agent.tool_until = 0.0
                self._ready.append(agent)

    def _both(self, name: str, amount: float) -> None:
        for tally in (self.total, self.since):
            setattr(tally, name, getattr(tally, name) + amount)

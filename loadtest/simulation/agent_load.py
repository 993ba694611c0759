"""What a simulation tells a law that admits agents: their contexts, and what the engine's cache has
done since the law last concluded something."""

from __future__ import annotations

from collections.abc import Collection

from loadtest.simulation.sessions import Session
from schedulers.concurrency.base import AgentLoad
from simulator.core.engine import Engine


class AgentGauge:
    """Reads one engine. Counts are since ``concluded`` was last told."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        pool = engine.pool
        self._kv_tokens = pool.usable * pool.block_size
        self._turns = self._grown_turns = self._grown = 0
        self._before = self._counts()

    def began(self, session: Session) -> None:
        """A turn goes to the engine."""
        self._turns += 1
        if session.grown is not None:
            self._grown += session.grown
            self._grown_turns += 1

    def concluded(self) -> None:
        """The law has drawn its conclusion from the counts: they begin anew."""
        self._turns = self._grown_turns = self._grown = 0
        self._before = self._counts()

    def load(
        self, active: Collection[Session], idle: Collection[Session], waits: Session | None
    ) -> AgentLoad:
        """``idle``: agents in front of the cache with no turn in the engine, paused ones too."""
        asked, found, gone, preempted = (
            now - before for now, before in zip(self._counts(), self._before, strict=True)
        )
        contexts = sum(each.context for each in active)
        mean = contexts / len(active) if active else 0.0
        return AgentLoad(
            active=len(active),
            contexts=contexts,
            kv_tokens=self._kv_tokens,
            next_context=None if waits is None else waits.context,
            kv_used=self._used(sum(each.context for each in idle)),
            hit_rate=found / asked if asked else None,
            evicted=preempted + (round(gone / mean) if mean else 0),
            turns=self._turns,
            grown=self._grown / self._grown_turns if self._grown_turns else None,
        )

    def _used(self, idle_tokens: float) -> float:
        """What turns hold, and of what the cache keeps beside them at most the idle contexts: the
        rest is of agents that are through, and is thrown out before anybody misses it."""
        pool = self._engine.pool
        held = pool.used * pool.block_size
        kept = min(pool.cached * pool.block_size, idle_tokens)
        return min(1.0, (held + kept) / self._kv_tokens)

    def _counts(self) -> tuple[int, int, int, int]:
        state = self._engine.state
        evicted = state.pool.tree.evicted * state.pool.block_size
        return state.queried_tokens, state.hit_tokens, evicted, state.preemptions

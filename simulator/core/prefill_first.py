"""The loop of SGLang: whenever a prefill can be formed it runs alone, and decodes wait for it.

Memory is not promised but estimated: a request is admitted when what it needs fits beside a share
of what the running ones may still say. The share begins high and sinks with every decode step; when
memory is short all the same, requests are retracted one by one, the least said first, and the
share is estimated anew. Numbers are SGLang's defaults (``new_token_ratio`` and its kin).
"""

from __future__ import annotations

from simulator.core.batch import Batch
from simulator.core.request import Sequence
from simulator.core.state import State

INITIAL_SHARE = 0.7
LEAST_SHARE = 0.7 * 0.14
DECAY_STEPS = 600
AHEAD_STEPS = 20
"""Decode steps for which memory is found when some are retracted."""
MOST_COUNTED = 4096
"""Output tokens of one request that the estimate counts."""


class PrefillFirst:
    """Puts one step together: prefills alone, or decodes alone."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._share = INITIAL_SHARE

    def schedule(self, batch: Batch) -> None:
        """Fill the batch."""
        self._prefills(batch)
        if batch.prefills:
            return
        self._retract(batch)
        state = self._state
        if state.decoding.count:
            state.pool.take(state.decoding.demand)
            batch.decode(state.decoding.count, state.decoding.context)
            self._sink(1)

    @property
    def settled(self) -> bool:
        """Whether steps of decodes alone go on as they are until somebody comes or ends."""
        state = self._state
        if state.prefilling or not state.decoding.count or state.hooks.each_step:
            return False
        return not state.waiting or len(state.running) >= state.seats

    def leapt(self, steps: int) -> None:
        """So many decode steps were taken at once."""
        self._sink(steps)

    def _prefills(self, batch: Batch) -> None:
        state = self._state
        pool, limit = state.pool, state.seats
        for sequence in list(state.prefilling):
            chunk = min(sequence.known - sequence.computed, batch.left)
            growth = pool.growth(sequence.computed, chunk)
            if chunk and growth <= pool.free:
                pool.take(growth)
                batch.prefill(sequence, chunk)
        promised = 0.0
        while state.waiting and batch.left > 0 and len(state.running) < limit:
            sequence = state.head(batch.start)
            plan = pool.plan(sequence, others=bool(state.running))
            rest = 0 if plan is None else sequence.known - plan.hit_blocks * pool.block_size
            wanted = rest + _to_come(sequence)
            if plan is None or (state.running and wanted >= self._room() - promised):
                return
            if not state.config.chunked_prefill and rest > batch.left:
                return
            promised += _to_come(sequence)
            state.admit(sequence, plan, batch.start)
            chunk = min(rest, batch.left)
            pool.take(pool.growth(sequence.computed, chunk))
            batch.prefill(sequence, chunk)

    def _room(self) -> float:
        """Tokens that can be had, less the estimate of what the running will still say."""
        state = self._state
        to_come = sum(
            _to_come(sequence) for sequence in state.running if sequence.decoding is not None
        )
        return state.pool.free * state.pool.block_size - self._share * to_come

    def _retract(self, batch: Batch) -> None:
        state = self._state
        decoding, pool = state.decoding, state.pool
        if decoding.demand <= pool.free:
            return
        candidates = sorted(
            state.running, key=lambda each: (-each.emitted, each.request.prompt_tokens)
        )
        while len(candidates) > 1 and decoding.demand_of(AHEAD_STEPS) > pool.free:
            victim = candidates[-1] if state.hooks.victim is None else state.victim(batch.start)
            candidates.remove(victim)
            state.preempt(victim, batch)
            state.queue(victim)
        said = sum(each.emitted for each in candidates)
        may_say = sum(each.request.most_tokens for each in candidates)
        self._share = min(1.0, (said + AHEAD_STEPS * len(candidates)) / max(1, may_say))

    def _sink(self, steps: int) -> None:
        fall = (INITIAL_SHARE - LEAST_SHARE) / DECAY_STEPS
        for _ in range(min(steps, DECAY_STEPS)):
            if self._share <= LEAST_SHARE:
                return
            self._share = max(LEAST_SHARE, self._share - fall)


def _to_come(sequence: Sequence) -> int:
    return min(sequence.request.most_tokens - sequence.emitted, MOST_COUNTED)

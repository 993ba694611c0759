"""The loop of vLLM V1: running requests first, in order, then waiting ones in theirs.

Prompts are cut to the token budget that is left; who can't grow makes the last to come go, who
will be first to come back; in such a step nobody is admitted. TensorRT-LLM's reserving of memory
and llama.cpp's slots are the same loop over another memory (``State.pool``).
"""

from __future__ import annotations

from simulator.core.batch import Batch
from simulator.core.request import Sequence
from simulator.core.state import State


class Continuous:
    """Puts one step together."""

    def __init__(self, state: State) -> None:
        self._state = state

    def schedule(self, batch: Batch) -> None:
        """Fill the batch."""
        self._running(batch)
        if not batch.preempted:
            self._waiting(batch)

    @property
    def settled(self) -> bool:
        """Whether steps of decodes alone go on as they are until somebody comes or ends."""
        state = self._state
        if state.prefilling or not state.decoding.count or state.hooks.each_step:
            return False
        full = len(state.running) >= state.seats
        return not state.waiting or state.blocked or full

    def _running(self, batch: Batch) -> None:
        state = self._state
        decoding, pool = state.decoding, state.pool
        if not state.prefilling:
            if decoding.demand > pool.free:
                self._walk(batch)
                return
            pool.take(decoding.demand)
            batch.decode(decoding.count, decoding.context)
            return
        if not self._in_step(batch):
            self._walk(batch)

    def _in_step(self, batch: Batch) -> bool:
        """Schedule all at once, where order makes no difference: nobody is short of anything."""
        state = self._state
        decoding, pool = state.decoding, state.pool
        left, chunks = batch.left - decoding.count, []
        for sequence in state.prefilling:
            chunk = self.chunk(sequence, left)
            chunks.append((sequence, chunk))
            left -= chunk
        last = next(reversed(state.running))
        if left <= 0 and (len(chunks) > 1 or last not in state.prefilling):
            return False
        growth = [pool.growth(sequence.settled_computed, chunk) for sequence, chunk in chunks]
        demand = decoding.demand + sum(growth)
        if demand > pool.free:
            return False
        pool.take(demand)
        batch.decode(decoding.count, decoding.context)
        for sequence, chunk in chunks:
            if chunk:
                batch.prefill(sequence, chunk)
        return True

    def _walk(self, batch: Batch) -> None:
        """One by one, in order, as long as budget lasts; memory is had by preempting."""
        state = self._state
        granted: dict[Sequence, tuple[int, int]] = {}
        for sequence in list(state.running):
            if not batch.left:
                break
            if sequence not in state.running:
                continue
            chunk = self._one_by_one(sequence, batch)
            need = state.pool.growth(sequence.computed, chunk)
            if not self._make_room(sequence, need, batch, granted):
                break
            state.pool.take(need)
            granted[sequence] = (chunk, need)
            batch.left -= chunk
        self._commit(batch, granted)

    def _one_by_one(self, sequence: Sequence, batch: Batch) -> int:
        if sequence.decoding is not None:
            return 1
        return self.chunk(sequence, batch.left)

    def _make_room(
        self, sequence: Sequence, need: int, batch: Batch, granted: dict[Sequence, tuple[int, int]]
    ) -> bool:
        """False if the one that is to grow had to go itself."""
        state = self._state
        while need > state.pool.free:
            victim = state.victim(batch.start)
            chunk, extra = granted.pop(victim, (0, 0))
            batch.left += chunk
            state.preempt(victim, batch, extra=extra)
            state.queue(victim, first=True)
            if victim is sequence:
                return False
        return True

    def _commit(self, batch: Batch, granted: dict[Sequence, tuple[int, int]]) -> None:
        state = self._state
        for sequence in state.running:
            if sequence.decoding is not None and sequence not in granted:
                batch.skipped.append(sequence)
        for sequence in batch.skipped:
            state.decoding.leave(sequence)
        for sequence, (chunk, _) in granted.items():
            batch.left += chunk
            if sequence.decoding is None and chunk:
                batch.prefill(sequence, chunk)
        batch.decode(state.decoding.count, state.decoding.context)

    def _waiting(self, batch: Batch) -> None:
        """Where the next of the waiting doesn't fit, nobody passes it."""
        state = self._state
        config, pool = state.config, state.pool
        if state.blocked and not state.hooks.each_step:
            return  # nothing has changed since the next one didn't fit
        while state.waiting and batch.left > 0 and len(state.running) < state.seats:
            sequence = state.head(batch.start)
            plan = pool.plan(sequence, others=bool(state.running))
            if plan is None:
                state.blocked = True
                return
            rest = sequence.known - max(plan.hit_blocks * pool.block_size, sequence.swapped)
            if not config.chunked_prefill and rest > batch.left:
                return
            state.admit(sequence, plan, batch.start)
            if sequence.swapped:
                self._swap_in(sequence, batch)
            chunk = self.chunk(sequence, batch.left)
            pool.take(pool.growth(sequence.settled_computed, chunk))
            batch.prefill(sequence, chunk)

    def _swap_in(self, sequence: Sequence, batch: Batch) -> None:
        pool = self._state.pool
        pool.take(pool.needed(sequence.swapped))
        sequence.restart(sequence.swapped)
        batch.swapped += sequence.swapped
        sequence.swapped = 0

    def chunk(self, sequence: Sequence, left: int) -> int:
        """Tokens of its prompt that the step takes."""
        state = self._state
        rest = sequence.request.prompt_tokens + sequence.settled_emitted
        rest -= sequence.settled_computed
        cap = state.config.long_prefill_threshold
        if cap and len(state.running) + len(state.waiting) > 1:
            rest = min(rest, cap)
        return max(0, min(rest, left))

"""Continuous batching as vLLM V1 does it, as pure arithmetic: whoever holds the clock says when.

A host feeds arrivals with ``add``, asks ``next_step_at`` when a step can begin, and runs it with
``step(now)``. A virtual host jumps from one to the next; a server waits for them. Both get the
same steps for the same requests, since nothing here looks at a clock.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, KeysView

from simulator.core.batch import Batch
from simulator.core.config import EngineConfig
from simulator.core.content import Content
from simulator.core.continuous import Continuous
from simulator.core.cost import GraphSizes
from simulator.core.door import Door, QueueFull
from simulator.core.hooks import NONE, Hooks, Taken
from simulator.core.kv_cache import BlockPool, Plan
from simulator.core.prefill_first import PrefillFirst
from simulator.core.request import Phase, Request, Sequence
from simulator.core.state import State
from simulator.core.step import Step, Stretch

__all__ = ["Engine", "QueueFull"]


class Engine:
    """One engine replica: queues, block pool and the step loop."""

    def __init__(
        self,
        config: EngineConfig,
        *,
        seed: int,
        hooks: Hooks = NONE,
        keep_times: bool = False,
    ) -> None:
        self.config = config
        self.free_at = 0.0
        """When the last step ended: the next one can't begin before."""
        self.state = State(config, hooks, keep_times=keep_times)
        self._loop: Continuous | PrefillFirst = (
            PrefillFirst(self.state) if config.style == "prefill_first" else Continuous(self.state)
        )
        self._door = Door(config, seed)
        self._padded = hooks.padded or GraphSizes(config.max_seqs).padded
        self._steps = 0
        self._gathers_until = 0.0
        """Until when a law puts the next step off."""

    def __len__(self) -> int:
        """Requests that are not over: in ingest, waiting or running."""
        return len(self._door.sequences)

    @property
    def ingesting(self) -> int:
        """Requests that the scheduler doesn't see yet."""
        return len(self._door.ingesting)

    @property
    def running(self) -> KeysView[Sequence]:
        """The batch, in order of admission."""
        return self.state.running.keys()

    @property
    def waiting(self) -> KeysView[Sequence]:
        """The queue, next first."""
        return self.state.waiting.keys()

    @property
    def pool(self) -> BlockPool:
        """The KV memory."""
        return self.state.pool

    def add(self, request: Request, now: float) -> Sequence:
        """Take a request that arrives ``now``. QueueFull if a limit says no."""
        return self._door.add(request, now)

    def warm(self, content: Content, tokens: int) -> None:
        """Start with the whole blocks of a content in the prefix cache, as if just used."""
        pool = self.pool
        sequence = Sequence(Request("warm", tokens + 1, 1, content), 0.0, 0.0)
        blocks = pool.growth(0, tokens)
        if blocks > pool.free:
            raise ValueError(f"{blocks} blocks don't fit into the {pool.free} that are free")
        pool.admit(sequence, Plan([], 0))
        pool.take(blocks)
        sequence.restart(tokens)
        pool.release(sequence)

    def abort(self, request_id: str) -> bool:
        """Forget a request and free its blocks at once; False if it is over already."""
        sequence = self._door.sequences.get(request_id)
        if sequence is None:
            return False
        state = self.state
        if sequence.phase is Phase.RUNNING:
            state.drop(sequence)
        elif sequence.phase is Phase.WAITING:
            state.unqueue(sequence)
            state.changed()
        else:
            self._door.withdraw(sequence)
        self._end(sequence, Phase.ABORTED)
        return True

    def next_step_at(self) -> float | None:
        """The earliest model time at which a step has work; None while the engine is empty."""
        ingesting = self._door.ingesting
        if self.state.running:
            return self.free_at
        if self.state.waiting:
            until = self._gathers_until
            return max(self.free_at, min(until, ingesting[0][0]) if ingesting else until)
        return max(self.free_at, ingesting[0][0]) if ingesting else None

    def step(self, now: float) -> Step:
        """Schedule and run one step that begins ``now``, and tell all of it."""
        self._begin(now)
        if self._gathers(now):
            return self._put_off(now)
        batch = self._schedule(now)
        state = self.state
        emitted = batch.emitting(state.running)
        before = [sequence.last_token_at for sequence in emitted]
        running, waiting, used = len(state.running), len(state.waiting), self.pool.used
        finished = self._complete(batch)
        for sequence, at in zip(emitted, before, strict=True):
            sequence.last_gap = None if at is None else self.free_at - at
        return Step(
            index=self._steps - 1,
            start=now,
            end=self.free_at,
            tokens=batch.tokens,
            prefill_tokens=batch.prefill_tokens,
            context=batch.context,
            sequences=batch.sequences,
            emitted=tuple(emitted),
            finished=tuple(finished),
            preempted=tuple(batch.preempted),
            running=running,
            waiting=waiting,
            used_blocks=used,
            freed_blocks=used - self.pool.used,
            pairs=batch.pairs,
        )

    def advance(self, now: float, before: float = math.inf) -> Stretch:
        """Run the step that begins ``now`` and all that follow it in which nothing changes.

        Nothing of the outside may happen until ``before``: no step begins at or after it. The times
        and the memory are those that ``step`` would give.
        """
        self._begin(now)
        if self._gathers(now):
            return Stretch(0, now, now, 0, (), (), 0, len(self.state.waiting), self.pool.used)
        steps = self._leap(now, before)
        if steps:
            return self._leapt(now, steps)
        batch = self._schedule(now)
        state = self.state
        tokens = (state.decoding.count if batch.decodes else 0) + len(batch.completing)
        running, waiting, used = len(state.running), len(state.waiting), state.pool.used
        finished = tuple(self._complete(batch))
        preempted, spoke = tuple(batch.preempted), tuple(batch.completing)
        return Stretch(
            1, now, self.free_at, tokens, finished, preempted, running, waiting, used, spoke
        )

    def run_until(self, moment: float) -> None:
        """Run every step that begins before a moment, if nothing of the outside happens till then.

        What ``advance`` would do again and again, for a host that asks nothing in between.
        """
        while (due := self.next_step_at()) is not None and due < moment:
            self._begin(due)
            if self._gathers(due):
                continue
            steps = self._leap(due, moment)
            if steps:
                self._take(steps)
                self._finish([])
            else:
                self._complete(self._schedule(due))

    def _begin(self, now: float) -> None:
        ingesting, state = self._door.ingesting, self.state
        ready = state.running or state.waiting or (ingesting and ingesting[0][0] <= now)
        if not ready or now < self.free_at:
            due = self.next_step_at()
            raise ValueError(f"no step can begin at {now}: the next one can at {due}")
        while ingesting and ingesting[0][0] <= now:
            sequence = heapq.heappop(ingesting)[2]
            sequence.phase = Phase.WAITING
            self.state.queue(sequence)
            if self.state.hooks.line is not None:
                self.state.blocked = False
            self.state.seats = self.config.max_seqs

    def _gathers(self, now: float) -> bool:
        """Whether a law puts the step off that could begin now."""
        state = self.state
        if state.hooks.allow is None or state.running:
            return False
        self._gathers_until = now + state.allowance(now).wait_s
        return self._gathers_until > now

    def _put_off(self, now: float) -> Step:
        """No step at all, which takes no time."""
        waiting = len(self.state.waiting)
        return Step(self._steps - 1, now, now, 0, 0, 0, 0, (), (), (), 0, waiting, self.pool.used)

    def _leap(self, now: float, before: float) -> int:
        """How many steps of decodes alone can be taken at once; 0: this one can't be one."""
        if not self._loop.settled:
            return 0
        decoding = self.state.decoding
        ingesting = self._door.ingesting
        bound = min(before, ingesting[0][0]) if ingesting else before
        decoding.anchor(now, self._padded(decoding.count))
        steps = decoding.steps_before(bound, decoding.steps_to_finish)
        return decoding.affordable(steps, self.state.pool.free)

    def _take(self, steps: int) -> None:
        """Take so many steps of decodes alone at once."""
        state = self.state
        decoding = state.decoding
        state.pool.take(decoding.demand_of(steps))
        self.free_at = end = decoding.end_after(steps)
        if state.hooks.taken is not None:
            seconds = end - decoding.end_after(steps - 1)
            state.hooks.taken(Taken(decoding.count, 0, decoding.context, seconds, end))
        decoding.advance(steps, end)
        if isinstance(self._loop, PrefillFirst):
            self._loop.leapt(steps)
        self._steps += steps

    def _leapt(self, now: float, steps: int) -> Stretch:
        state = self.state
        tokens, running = state.decoding.count * steps, len(state.running)
        self._take(steps)
        waiting, used, end = len(state.waiting), state.pool.used, self.free_at
        finished = tuple(self._finish([]))
        return Stretch(steps, now, end, tokens, finished, (), running, waiting, used)

    def _schedule(self, now: float) -> Batch:
        batch = Batch(now, self.state.budget(now))
        self._loop.schedule(batch)
        return batch

    def _complete(self, batch: Batch) -> list[Sequence]:
        """Cost the step and end it."""
        state = self.state
        decoding = state.decoding
        if batch.prefills or batch.swapped:
            decoding.interrupt()
            tokens = batch.tokens
            padded = tokens if batch.prefill_tokens else self._padded(tokens)
            cost = self.config.cost.seconds(padded, batch.context, batch.sequences, batch.pairs)
            end = batch.start + cost + 1e-3 * self.config.swap_ms_per_token * batch.swapped
        else:
            decoding.anchor(batch.start, self._padded(decoding.count))
            end = decoding.end_after(1)
        if batch.decodes:
            decoding.advance(1, end)
        self.free_at = end
        self._steps += 1
        if state.hooks.taken is not None:
            self._tell(batch, state.hooks.taken)
        for sequence in batch.skipped:
            decoding.join(sequence)
        return self._finish(self._prefilled(batch, end))

    def _tell(self, batch: Batch, hear: Callable[[Taken], None]) -> None:
        """A law of batching hears what its step cost."""
        prefill, seconds = batch.prefill_tokens, self.free_at - batch.start
        hear(Taken(batch.tokens - prefill, prefill, batch.context, seconds, self.free_at))

    def _prefilled(self, batch: Batch, end: float) -> list[Sequence]:
        """What was computed can be found; whose prompt is whole goes on to decode or is done."""
        state = self.state
        for sequence in batch.prefills:
            if sequence.request.content is not None:  # nobody else looks for the others
                state.pool.publish(sequence)
        if batch.prefills:
            state.changed()
        done = []
        for sequence in batch.completing:
            del state.prefilling[sequence]
            if sequence.first_token_at is None:
                self._door.answered(sequence)
            sequence.say(end)
            if sequence.emitted == sequence.request.output_tokens:
                done.append(sequence)
            else:
                state.decoding.join(sequence)
        return done

    def _finish(self, done: list[Sequence]) -> list[Sequence]:
        done += self.state.decoding.take_finished()
        if len(done) > 1:
            done.sort(key=lambda sequence: sequence.place)
        for sequence in done:
            self.state.drop(sequence)
            self._end(sequence, Phase.FINISHED)
        return done

    def _end(self, sequence: Sequence, phase: Phase) -> None:
        self._door.over(sequence)
        sequence.phase = phase

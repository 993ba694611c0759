"""Continuous batching as vLLM V1 does it, as pure arithmetic: whoever holds the clock says when.

A host feeds arrivals with ``add``, asks ``next_step_at`` when a step can begin, and runs it with
``step(now)``. A virtual host jumps from one to the next; a server waits for them. Both get the
same steps for the same requests, since nothing here looks at a clock.
"""

from __future__ import annotations

import heapq
from collections import deque

from simulator.core.config import EngineConfig
from simulator.core.cost import GraphSizes
from simulator.core.ingest import Ingest
from simulator.core.kv_cache import BlockPool
from simulator.core.request import Phase, Request, Sequence
from simulator.core.step import Step


class QueueFull(Exception):  # noqa: N818 - a refusal, not a fault
    """The engine holds all it may; ``reason`` is the limit's name as vLLM's metrics spell it."""

    def __init__(self, reason: str, limit: int) -> None:
        self.reason = reason
        self.limit = limit
        super().__init__(f"{reason} ({limit}) is reached")


class Engine:
    """One engine replica: queues, block pool and the step loop."""

    def __init__(self, config: EngineConfig, *, seed: int) -> None:
        self.config = config
        self.pool = BlockPool(config.blocks, config.block_size, config.watermark)
        self.running: list[Sequence] = []
        self.waiting: deque[Sequence] = deque()
        self.free_at = 0.0
        """When the last step ended: the next one can't begin before."""
        self._sequences: dict[str, Sequence] = {}
        self._ingesting: list[tuple[float, int, Sequence]] = []
        self._ingest = Ingest(config.ingest_s, config.ingest_sigma, seed)
        self._graphs = GraphSizes(config.max_seqs)
        self._added = 0
        self._steps = 0
        self._prefilling = 0

    def __len__(self) -> int:
        """Requests that are not over: in ingest, waiting or running."""
        return len(self._sequences)

    def admit(self) -> None:
        """Raise QueueFull if the next ``add`` would."""
        config = self.config
        if config.max_queued_requests is not None and len(self) >= config.max_queued_requests:
            raise QueueFull("max_num_queued_reqs", config.max_queued_requests)
        if config.max_queued_tokens is not None and self._prefilling >= config.max_queued_tokens:
            raise QueueFull("max_num_queued_tokens", config.max_queued_tokens)

    def add(self, request: Request, now: float) -> Sequence:
        """Take a request that arrives ``now``. QueueFull if a limit says no."""
        if request.id in self._sequences:
            raise ValueError(f"{request.id}: a request of this id is in the engine")
        if request.total_tokens > self.config.max_model_len:
            raise ValueError(f"{request.id}: longer than max_model_len")
        self.admit()
        queued_at = now + self._ingest.draw()
        sequence = Sequence(request, arrived_at=now, queued_at=queued_at)
        heapq.heappush(self._ingesting, (queued_at, self._added, sequence))
        self._added += 1
        self._sequences[request.id] = sequence
        self._prefilling += request.prompt_tokens
        return sequence

    def abort(self, request_id: str) -> bool:
        """Forget a request and free its blocks at once; False if it is over already."""
        sequence = self._sequences.pop(request_id, None)
        if sequence is None:
            return False
        if sequence.phase is Phase.RUNNING:
            self.running.remove(sequence)
        elif sequence.phase is Phase.WAITING:
            self.waiting.remove(sequence)
        else:
            self._ingesting = [entry for entry in self._ingesting if entry[2] is not sequence]
            heapq.heapify(self._ingesting)
        self._end(sequence, Phase.ABORTED)
        return True

    def next_step_at(self) -> float | None:
        """The earliest model time at which a step has work; None while the engine is empty."""
        if self.running or self.waiting:
            return self.free_at
        if self._ingesting:
            return max(self.free_at, self._ingesting[0][0])
        return None

    def step(self, now: float) -> Step:
        """Schedule and run one step that begins ``now``."""
        due = self.next_step_at()
        if due is None or now < due:
            raise ValueError(f"no step can begin at {now}: the next one can at {due}")
        self._take_in(now)
        batch = _Batch(self.config.token_budget)
        self._schedule_running(batch)
        if not batch.preempted:
            self._schedule_waiting(batch, now)
        return self._complete(batch, now)

    def _take_in(self, now: float) -> None:
        ingesting = self._ingesting
        while ingesting and ingesting[0][0] <= now:
            sequence = heapq.heappop(ingesting)[2]
            sequence.phase = Phase.WAITING
            self.waiting.append(sequence)

    def _schedule_running(self, batch: _Batch) -> None:
        running = self.running
        place = 0
        while place < len(running) and batch.left:
            sequence = running[place]
            chunk = min(sequence.known - sequence.computed, batch.left)
            if not self._make_room(sequence, sequence.computed + chunk, batch):
                return
            batch.put(sequence, chunk)
            place += 1

    def _make_room(self, sequence: Sequence, tokens: int, batch: _Batch) -> bool:
        """Grow the sequence, preempting from the tail; False if it was itself the tail."""
        while not self.pool.grow(sequence, tokens):
            victim = self.running.pop()
            self._preempt(victim)
            batch.preempted.append(victim)
            if victim is sequence:
                return False
        return True

    def _preempt(self, victim: Sequence) -> None:
        """Recompute: blocks go, tokens said stay said, and it is first to come back."""
        self.pool.release(victim)
        victim.computed = 0
        victim.preemptions += 1
        victim.phase = Phase.WAITING
        self.waiting.appendleft(victim)

    def _schedule_waiting(self, batch: _Batch, now: float) -> None:
        """First come, first served: where the head doesn't fit, nobody passes it."""
        while self.waiting and batch.left and len(self.running) < self.config.max_seqs:
            sequence = self.waiting[0]
            if not self.pool.admits(sequence, others=bool(self.running)):
                return
            chunk = min(sequence.known, batch.left)
            self.pool.grow(sequence, chunk)
            self.waiting.popleft()
            self.running.append(sequence)
            sequence.phase = Phase.RUNNING
            if sequence.scheduled_at is None:
                sequence.scheduled_at = now
            batch.put(sequence, chunk)

    def _complete(self, batch: _Batch, now: float) -> Step:
        running, waiting, used = len(self.running), len(self.waiting), self.pool.used
        tokens = self.config.token_budget - batch.left
        padded = tokens if batch.prefill_tokens else self._graphs.padded(tokens)
        end = now + self.config.cost.seconds(padded, batch.context, batch.sequences, batch.pairs)
        finished = self._emit(batch.emitting, end)
        self.free_at = end
        self._steps += 1
        return Step(
            index=self._steps - 1,
            start=now,
            end=end,
            tokens=tokens,
            prefill_tokens=batch.prefill_tokens,
            context=batch.context,
            sequences=batch.sequences,
            emitted=tuple(batch.emitting),
            finished=tuple(finished),
            preempted=tuple(batch.preempted),
            running=running,
            waiting=waiting,
            used_blocks=used,
        )

    def _emit(self, emitting: list[Sequence], end: float) -> list[Sequence]:
        finished = []
        for sequence in emitting:
            sequence.emitted += 1
            sequence.known += 1
            if sequence.last_token_at is None:
                sequence.first_token_at = end
                self._prefilling -= sequence.request.prompt_tokens
            else:
                sequence.last_gap = end - sequence.last_token_at
            sequence.last_token_at = end
            if sequence.emitted == sequence.request.output_tokens:
                finished.append(sequence)
        for sequence in finished:
            del self._sequences[sequence.request.id]
            self._end(sequence, Phase.FINISHED)
        if finished:
            self.running = [each for each in self.running if each.phase is Phase.RUNNING]
        return finished

    def _end(self, sequence: Sequence, phase: Phase) -> None:
        self.pool.release(sequence)
        sequence.phase = phase
        if sequence.first_token_at is None:
            self._prefilling -= sequence.request.prompt_tokens


class _Batch:
    """One step as it is being put together."""

    __slots__ = (
        "context", "emitting", "left", "pairs", "preempted", "prefill_tokens", "sequences",
    )  # fmt: skip

    def __init__(self, budget: int) -> None:
        self.left = budget
        self.sequences = 0
        self.prefill_tokens = 0
        self.context = 0
        self.pairs = 0.0
        self.emitting: list[Sequence] = []
        self.preempted: list[Sequence] = []

    def put(self, sequence: Sequence, chunk: int) -> None:
        """Schedule ``chunk`` tokens of a sequence whose blocks are there."""
        done = sequence.computed
        if chunk == 1 and done >= sequence.request.prompt_tokens:
            self.context += done
        else:
            self.prefill_tokens += chunk
            self.pairs += chunk * (done + chunk / 2)
        sequence.computed = done = done + chunk
        self.left -= chunk
        self.sequences += 1
        if done == sequence.known:
            self.emitting.append(sequence)

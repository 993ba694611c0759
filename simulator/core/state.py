"""Who runs and who waits in one engine, and the moves between the two."""

from __future__ import annotations

from collections import OrderedDict

from simulator.core.batch import Batch
from simulator.core.config import EngineConfig
from simulator.core.decoding import Decoding
from simulator.core.hooks import Ahead, Allowance, Hooks, Load, View
from simulator.core.kv_cache import BlockPool, Plan
from simulator.core.request import Phase, Sequence
from simulator.core.slots import SlotPool


class State:
    """The queue, the batch in order of admission, and the memory."""

    def __init__(self, config: EngineConfig, hooks: Hooks, *, keep_times: bool) -> None:
        self.config = config
        self.hooks = hooks
        self.pool = pool_for(config)
        self.decoding = Decoding(config.cost, config.block_size, keep=keep_times)
        self.running: dict[Sequence, None] = {}
        self.prefilling: dict[Sequence, None] = {}
        """Those of the running whose prompt is not computed yet."""
        self.waiting: OrderedDict[Sequence, None] = OrderedDict()
        self.blocked = False
        """The next of the waiting doesn't fit, and won't before something changes."""
        self.seats = config.max_seqs
        """Sequences that may run: the engine's own bound, or a law's until something changes."""
        self.queried_tokens = 0
        self.hit_tokens = 0
        self.preemptions = 0
        self._line = hooks.line() if hooks.line is not None else None
        self._named: dict[str, Sequence] = {}
        """The waiting by id, where a law is asked who is next."""
        self._admitted = 0
        self._asked: tuple[float, Allowance] | None = None

    def changed(self) -> None:
        """Who didn't fit may fit now: whatever was answered is to be asked again."""
        self.blocked = False
        self.seats = self.config.max_seqs

    def budget(self, now: float) -> int:
        """Tokens that a step may hold; in one with prefills a law may make it less."""
        most, hooks = self.config.token_budget, self.hooks
        if hooks.token_budget is None and hooks.allow is None:
            return most
        full = self.blocked or len(self.running) >= self.seats
        closed = full and not hooks.each_step
        if not self.prefilling and (closed or not self.waiting):
            return most
        if hooks.allow is not None:
            allowed = self.allowance(now)
            seats = allowed.max_sequences if allowed.admit_waiting else len(self.running)
            self.seats = max(1, min(self.config.max_seqs, seats))
            tokens = allowed.token_budget
        else:
            assert hooks.token_budget is not None  # noqa: S101 - asked above
            tokens = hooks.token_budget(self.load(now))
        # A prefill must get on, or it would wait for ever.
        return min(most, max(tokens, self.decoding.count + 1))

    def allowance(self, now: float) -> Allowance:
        """What the law of batching says to this step; asked once."""
        if self._asked is None or self._asked[0] != now:
            assert self.hooks.allow is not None  # noqa: S101 - asked before
            self._asked = (now, self.hooks.allow(self.load(now), self._ahead(now)))
        return self._asked[1]

    def load(self, now: float) -> Load:
        """What a law may know before a step."""
        return Load(
            now,
            self.decoding.count,
            len(self.prefilling),
            len(self.waiting),
            self.decoding.context,
            self.pool.free,
        )

    def _ahead(self, now: float) -> Ahead:
        return Ahead(
            sum(each.known - each.computed for each in self.prefilling),
            self._waiting_tokens(),
            now - next(iter(self.waiting)).queued_at if self.waiting else 0.0,
        )

    def _waiting_tokens(self) -> int:
        """Counting all of a long queue before each step would cost more than the step."""
        found, most = 0, self.config.token_budget
        for each in self.waiting:
            found += each.known
            if found > most:
                break
        return found

    def queue(self, sequence: Sequence, *, first: bool = False) -> None:
        """It waits, behind all others or before them."""
        self.waiting[sequence] = None
        if first:
            self.waiting.move_to_end(sequence, last=False)
        if self._line is not None:
            self._named[sequence.request.id] = sequence
            self._line.joined(View.of(sequence))

    def unqueue(self, sequence: Sequence) -> None:
        """It waits no more."""
        del self.waiting[sequence]
        if self._line is not None:
            del self._named[sequence.request.id]
            self._line.left(sequence.request.id)

    def head(self, now: float) -> Sequence:
        """The next of the waiting, brought to the front."""
        if self._line is not None and len(self.waiting) > 1:
            self.waiting.move_to_end(self._named[self._line.first(now)], last=False)
        return next(iter(self.waiting))

    def admit(self, sequence: Sequence, plan: Plan, now: float) -> None:
        """The head of the queue joins the batch, with what it found in the cache."""
        self.unqueue(sequence)
        self.pool.admit(sequence, plan)
        self.running[sequence] = self.prefilling[sequence] = None
        sequence.phase = Phase.RUNNING
        sequence.place = self._admitted
        self._admitted += 1
        sequence.admitted_at = now
        if sequence.scheduled_at is None:
            sequence.scheduled_at = now
            sequence.cached_tokens = sequence.computed
            self.queried_tokens += sequence.request.prompt_tokens
            self.hit_tokens += sequence.cached_tokens

    def drop(self, sequence: Sequence, *, extra: int = 0) -> None:
        """It leaves the batch, and its memory is free; ``extra`` blocks it hadn't filled yet."""
        if sequence.decoding is not None:
            self.decoding.leave(sequence)
        del self.running[sequence]
        self.prefilling.pop(sequence, None)
        self.pool.release(sequence, extra=extra)
        self.changed()

    def preempt(self, victim: Sequence, batch: Batch, *, extra: int = 0) -> None:
        """Its blocks go, tokens said stay said; it will recompute, or be swapped in again."""
        self.drop(victim, extra=extra)
        if self.config.swap and self._swaps(victim):
            victim.swapped = victim.computed
            batch.swapped += victim.swapped
        victim.restart(0)
        victim.preemptions += 1
        self.preemptions += 1
        victim.phase = Phase.WAITING
        batch.preempted.append(victim)

    def _swaps(self, victim: Sequence) -> bool:
        hook = self.hooks.swaps
        return hook is None or hook(victim.request.id)

    def victim(self, now: float) -> Sequence:
        """Who goes first when memory is short: the last to come, if no law says otherwise."""
        hook = self.hooks.victim
        if hook is None:
            return next(reversed(self.running))
        running = list(self.running)
        return running[hook([View.of(each) for each in running], now)]


def pool_for(config: EngineConfig) -> BlockPool:
    """The memory that the engine's style has."""
    if config.style == "slots":
        return SlotPool(config)
    return BlockPool(
        config.blocks,
        config.block_size,
        config.watermark,
        prefix_cache=config.prefix_cache,
        reserves=config.style == "reserve_max",
    )

"""Memory cut into slots, as llama.cpp has it: each request owns one slot's share, used or not.

A slot keeps the tokens of its last request. A new one takes the free slot whose tokens it shares
most of, from the beginning, and computes only the rest; the slot longest idle where none helps.
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.core.config import EngineConfig
from simulator.core.content import Content
from simulator.core.kv_cache import BlockPool, Plan, content_of
from simulator.core.request import Sequence


class SlotPool(BlockPool):
    """A pool in which nobody can be short of memory: what is bounded is the number of slots."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            config.blocks, config.block_size, 0.0, prefix_cache=config.prefix_cache, reserves=False
        )
        self._held: dict[Sequence, int] = {}
        self._idle: dict[int, tuple[Content | None, int]] = dict.fromkeys(
            range(config.max_seqs), (None, 0)
        )
        """Slots without a request, the longest idle first: what they still hold, in blocks."""
        self._granted = 0

    @property
    def free(self) -> int:
        return self.usable - self._granted

    @property
    def used(self) -> int:
        return self._granted

    @property
    def cached(self) -> int:
        return sum(blocks for _, blocks in self._idle.values())

    def plan(self, sequence: Sequence, *, others: bool) -> Plan | None:  # noqa: ARG002
        """The slot that it would get; None while all are taken."""
        if not self._idle:
            return None
        return Plan([], self._best(sequence)[1])

    def admit(self, sequence: Sequence, plan: Plan) -> None:
        slot, found = self._best(sequence)
        del self._idle[slot]
        self._held[sequence] = slot
        sequence.leaf = self.tree.root
        sequence.restart(found * self.block_size)
        self._granted += plan.hit_blocks

    def take(self, blocks: int) -> None:
        self._granted += blocks

    def publish(self, sequence: Sequence) -> None:
        """A slot's tokens are found only once its request has left."""

    def release(self, sequence: Sequence, *, extra: int = 0) -> None:
        if sequence.leaf is None:
            return
        sequence.leaf = None
        self._granted -= self.needed(sequence.computed) + extra
        full = sequence.computed // self.block_size if self._finds else 0
        self._idle[self._held.pop(sequence)] = (content_of(sequence), full)

    def forget(self) -> None:
        self._idle = dict.fromkeys(self._idle, (None, 0))

    def _best(self, sequence: Sequence) -> tuple[int, int]:
        """The idle slot that shares most with it, and how many blocks."""
        limit = (sequence.known - 1) // self.block_size
        best, most = next(iter(self._idle)), 0
        for slot, (content, held) in self._idle.items():
            if content is None or held <= most:
                continue
            shared = self._shared(content, content_of(sequence), min(held, limit))
            if shared > most:
                best, most = slot, shared
        return best, most

    def _shared(self, one: Content, other: Content, limit: int) -> int:
        pairs = zip(self._each(one, limit), self._each(other, limit), strict=True)
        return next((place for place, (a, b) in enumerate(pairs) if a != b), limit)

    def _each(self, content: Content, limit: int) -> Iterator[object]:
        for (origin, offset), run in content.keys(0, limit, self.block_size):
            for place in range(run):
                yield origin, offset + place * self.block_size

"""The block pool: who may have KV memory, how much is left, and what is found in it again.

One block is the null block of vLLM, which nobody gets, so usage is a share of ``blocks − 1``. Only
blocks that a sequence refers to count as used; those that are idle but could still be found are
told apart, in ``cached``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simulator.core.content import Content, Key, Runs
from simulator.core.prefix_tree import Node, PrefixTree
from simulator.core.request import Sequence


class Plan(NamedTuple):
    """What a waiting sequence would find if it were admitted now."""

    path: list[Node]
    hit_blocks: int


class BlockPool:
    """Grants and takes back whole blocks. ``free`` never goes below 0 or above ``usable``.

    ``reserves``: a sequence is admitted only if all that it may ever say fits besides what was
    promised to the others, and is never short of memory afterwards.
    """

    def __init__(
        self,
        blocks: int,
        block_size: int,
        watermark: float,
        *,
        prefix_cache: bool = True,
        reserves: bool = False,
    ) -> None:
        self.blocks = blocks
        self.block_size = block_size
        self.usable = blocks - 1
        self.tree = PrefixTree(block_size)
        self.reserves = reserves
        self.promised = 0
        """Blocks that running sequences were promised and don't have yet."""
        self._untouched = self.usable
        self._kept_back = int(watermark * blocks)
        self._finds = prefix_cache

    @property
    def free(self) -> int:
        """Blocks that can be had: never used, or idle."""
        return self._untouched + self.tree.idle

    @property
    def used(self) -> int:
        """Blocks that a sequence refers to."""
        return self.usable - self._untouched - self.tree.idle

    @property
    def cached(self) -> int:
        """Blocks that nobody refers to and that could be found again."""
        return self.tree.cached

    @property
    def usage(self) -> float:
        """Referenced blocks as a share of those that can be had, 0–1."""
        return self.used / self.usable

    def needed(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self.block_size)

    def plan(self, sequence: Sequence, *, others: bool) -> Plan | None:
        """What it would find, or None while it doesn't fit.

        All that is known of it must fit, not just its first chunk, which keeps a long prompt from
        starting what it can't end; the watermark is kept back only while others are at work. The
        last token is always computed, so a prompt is never found whole.
        """
        path, hits = _NOTHING
        if self._finds and sequence.findable:
            limit = (self._known(sequence) - 1) // self.block_size
            path, hits = self.tree.match(blocks_of(sequence, 0, limit, self.block_size))
        in_use = min(hits, sum(node.blocks for node in path if node.refs)) if path else 0
        spare = self.free - self.promised - (self._kept_back if others else 0)
        return Plan(path, hits) if self._wanted(sequence) - in_use <= spare else None

    def admit(self, sequence: Sequence, plan: Plan) -> None:
        """Let it use what was found; ``computed`` stands at the end of it."""
        sequence.leaf = self.tree.acquire(plan.path, plan.hit_blocks)
        sequence.shared_blocks = plan.hit_blocks
        sequence.restart(plan.hit_blocks * self.block_size)
        if self.reserves:
            self.promised += self._wanted(sequence) - plan.hit_blocks

    def held(self, sequence: Sequence) -> int:
        """Blocks that it refers to, alone or with others."""
        return 0 if sequence.leaf is None else self.needed(sequence.computed)

    def growth(self, held: int, more: int) -> int:
        """Blocks that who holds so many tokens lacks for so many more."""
        size = self.block_size
        return -(-(held + more) // size) + -held // size

    def take(self, blocks: int) -> None:
        """Grant blocks that are free."""
        if self.reserves:
            self.promised -= blocks
        rest = blocks - self._untouched
        if rest <= 0:
            self._untouched -= blocks
        else:
            self._untouched = 0
            self.tree.evict(rest)

    def publish(self, sequence: Sequence) -> None:
        """Make what it has computed in whole blocks findable."""
        full = sequence.settled_computed // self.block_size
        if not self._finds or full <= sequence.shared_blocks:
            return
        assert sequence.leaf is not None  # noqa: S101 - it was admitted
        blocks = blocks_of(sequence, sequence.shared_blocks, full, self.block_size)
        sequence.leaf, known = self.tree.insert(sequence.leaf, blocks)
        sequence.shared_blocks = full
        if known:
            self.tree.discard(known)

    def release(self, sequence: Sequence, *, extra: int = 0) -> None:
        """Take back every block of the sequence; ``extra`` it was granted and hasn't filled."""
        if sequence.leaf is None:
            return
        self.publish(sequence)
        held = -(-sequence.settled_computed // self.block_size)
        if self.reserves:
            self.promised -= self._wanted(sequence) - held - extra
        own = held + extra - sequence.shared_blocks
        if own:
            self.tree.discard(own)
        self.tree.release(sequence.leaf)
        sequence.leaf, sequence.shared_blocks = None, 0

    def forget(self) -> None:
        """Empty the prefix cache of all that nobody uses."""
        self.tree.forget()

    @staticmethod
    def _known(sequence: Sequence) -> int:
        """Tokens known of one that doesn't decode."""
        return sequence.request.prompt_tokens + sequence.settled_emitted

    def _wanted(self, sequence: Sequence) -> int:
        """Blocks that must be there at admission."""
        if not self.reserves:
            return self.needed(self._known(sequence))
        return self.needed(sequence.request.prompt_tokens + sequence.request.most_tokens)


def content_of(sequence: Sequence) -> Content:
    """The request's content, or one that nobody else has."""
    request = sequence.request
    if request.content is None:
        return Runs(((("only", request.id), request.total_tokens),))
    return request.content


def blocks_of(
    sequence: Sequence, start: int, end: int, block_size: int
) -> Iterable[tuple[Key, int]]:
    """Blocks ``start`` to ``end − 1`` of it, in runs."""
    request = sequence.request
    if request.content is None:
        return (((("only", request.id), start * block_size), end - start),) if end > start else ()
    return request.content.keys(start, end, block_size)


_NOTHING: tuple[list[Node], int] = ([], 0)

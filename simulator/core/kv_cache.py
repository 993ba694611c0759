"""The block pool: who may have KV memory, and how much is left.

Blocks are counted, not named: without shared prefixes one block is as good as another. One is
the null block of vLLM, which nobody gets, so usage is a share of ``blocks − 1``.
"""

from __future__ import annotations

from simulator.core.request import Sequence


class BlockPool:
    """Grants and takes back whole blocks. ``free`` never goes below 0 or above ``usable``."""

    def __init__(self, blocks: int, block_size: int, watermark: float) -> None:
        self.blocks = blocks
        self.block_size = block_size
        self.usable = blocks - 1
        self.free = self.usable
        self._kept_back = int(watermark * blocks)

    @property
    def used(self) -> int:
        """Blocks that a sequence refers to."""
        return self.usable - self.free

    @property
    def usage(self) -> float:
        """Referenced blocks as a share of those that can be had, 0–1."""
        return self.used / self.usable

    def needed(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self.block_size)

    def grow(self, sequence: Sequence, tokens: int) -> bool:
        """Let it hold ``tokens`` tokens in all; False, and no change, if they don't fit."""
        more = self.needed(tokens) - sequence.blocks
        if more > self.free:
            return False
        if more > 0:
            self.free -= more
            sequence.blocks += more
        return True

    def admits(self, sequence: Sequence, *, others: bool) -> bool:
        """Whether all that is known of a waiting sequence fits now.

        Its first chunk may need less; asking for the whole keeps a long prompt from starting
        what it can't end. The watermark is kept back only while others are at work.
        """
        kept_back = self._kept_back if others else 0
        return self.needed(sequence.known) <= self.free - kept_back

    def release(self, sequence: Sequence) -> None:
        """Take back every block of the sequence."""
        self.free += sequence.blocks
        sequence.blocks = 0

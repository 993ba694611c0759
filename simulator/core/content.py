"""What a request's tokens are, as far as a prefix cache can tell: chained keys of whole blocks.

Two requests share a block exactly when their contents agree up to its end. A key names a block
beneath its parent, so a chain of keys is vLLM's chain of hashes; a run of blocks of one origin is
told as one key and a count, which keeps a prompt of thousands of tokens a handful of steps.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol

Key = tuple[Hashable, int]
"""An origin and the token of it at which the block begins; ``(o, i)`` is followed by
``(o, i + block_size)`` while the origin lasts."""


class Content(Protocol):
    """The tokens of a prompt and of its answer, block by block."""

    def keys(self, start: int, end: int, block_size: int) -> Iterator[tuple[Key, int]]:
        """Runs ``(key of the first block, blocks)`` that cover blocks ``start`` to ``end − 1``."""
        ...


@dataclass(frozen=True, slots=True)
class Runs:
    """Tokens by origin: ``(("system", 500), ("user 7", 40))``; equal origins are equal tokens.

    The last run may be longer than anything asked of it: an answer that is still being said.
    """

    runs: tuple[tuple[Hashable, int], ...]

    def keys(self, start: int, end: int, block_size: int) -> Iterator[tuple[Key, int]]:
        """See Content. A block that straddles runs has the parts of it as its origin."""
        block, begins = start, 0
        for place, (origin, length) in enumerate(self.runs):
            ends = begins + length
            if block < end and ends > block * block_size:
                whole = min(end, ends // block_size) - block
                if whole > 0:
                    yield (origin, block * block_size - begins), whole
                    block += whole
                if block < end and ends > block * block_size:
                    yield (self._straddling(place, block * block_size - begins, block_size), 0), 1
                    block += 1
            begins = ends

    def _straddling(self, place: int, offset: int, tokens: int) -> Hashable:
        parts = []
        for origin, length in self.runs[place:]:
            part = min(length - offset, tokens)
            if part > 0:
                parts.append((origin, offset, part))
            tokens -= max(0, part)
            offset = max(0, offset - length)
            if tokens == 0:
                break
        return tuple(parts)


def unshared(name: Hashable, tokens: int) -> Runs:
    """A content that nobody else has."""
    return Runs(((("only", name), tokens),))

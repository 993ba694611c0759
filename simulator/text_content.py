"""What a text's tokens are to the prefix cache: each block of them is known by its very words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simulator.core.content import Key
from simulator.text import WIDTH, text_of


class TextContent:
    """The tokens of a prompt, and then those of the answer that ``key`` decides.

    So the next turn of a chat, which repeats both, finds both.
    """

    __slots__ = ("_answer", "_key", "_prompt")

    def __init__(self, prompt: Sequence[bytes], key: int) -> None:
        self._prompt = prompt
        self._key = key
        self._answer: list[bytes] = []

    def keys(self, start: int, end: int, block_size: int) -> Iterator[tuple[Key, int]]:
        """See ``simulator.core.content.Content``: one run for each block."""
        lacking = end * block_size - len(self._prompt) - len(self._answer)
        if lacking > 0:
            said = len(self._answer)
            more = text_of(self._key, said + lacking)[said * WIDTH :]
            self._answer += more.encode().split()
        for block in range(start, end):
            yield (self._block(block * block_size, block_size), 0), 1

    def _block(self, first: int, size: int) -> bytes:
        prompt = len(self._prompt)
        words = [*self._prompt[first : first + size]]
        if len(words) < size:
            begins = max(0, first - prompt)
            words += self._answer[begins : begins + size - len(words)]
        return b" ".join(words)

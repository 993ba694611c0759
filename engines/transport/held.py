"""Which reads of a stream that runs may wait to be parsed together, and which need no parser then.

Nearly every read is one whole chunk of HTTP. What its size line is, its own length says; so it is
known from one comparison to be whole, and its payload is cut out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any

MOST_HELD = 128
"""Reads of one stream that wait at most."""
LONGEST_HELD = 4096
"""Bytes of a read that waits: with ``MOST_HELD``, what one stream holds at most is 512 KiB."""


class Held:
    """Reads that wait, in three columns: many small objects would cost the memory's time."""

    __slots__ = ("data", "read_at", "stamps")

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.stamps: list[Any] = []
        """When each came: seconds, or what its carrier turns into them."""
        self.read_at: list[int] = []
        """When each was read, in ns, where the stamp is the kernel's."""


TOKEN_END = b"}\n\n\r\n"
"""How a read ends that brings a token: with an object, its event and the chunk around that."""
ERROR = b"error"
_ENDS = (TOKEN_END, b"}\r\n\r\n\r\n")


def may_wait(data: bytes) -> bool:
    """Whether a read is not the end of an answer, as far as can be seen without parsing it.

    It ends with a chunk that ends with an event whose data is an object: so the message is not
    over, and its last event is not [DONE]. An error frame says so in some word. What is broken
    otherwise, or goes on behind its end, is found when what was held is parsed.
    """
    return data.endswith(_ENDS) and ERROR not in data and len(data) <= LONGEST_HELD


_NONE = b"\0"
_ends_line = methodcaller("endswith", b"\r\n")


class _SizeLines(dict[int, bytes]):
    """The size line of a chunk by the length of the whole of it: line, payload and end."""

    def __init__(self, form: bytes) -> None:
        super().__init__()
        self._form = form

    def __missing__(self, length: int) -> bytes:
        """Worked out once for each length; no chunk is so long where there is no such line."""
        payloads = (length - digits - 4 for digits in range(1, 5))
        lines = [self._form % payload for payload in payloads if payload > 0]
        fitting = [line for line in lines if len(line) + int(line, 16) + 2 == length]
        line = self[length] = fitting[0] if fitting else _NONE
        return line


_LOWER, _UPPER = _SizeLines(b"%x\r\n"), _SizeLines(b"%X\r\n")
"""Servers write sizes in either."""


def payloads(reads: Sequence[bytes]) -> list[bytes] | None:
    """What is in the chunks, where each of these reads is one whole chunk of HTTP and no more.

    None where one is not, or writes its size in another way: that is for the parser. Each read is
    at most ``LONGEST_HELD`` long.
    """
    if not all(map(_ends_line, reads)):
        return None
    lengths = list(map(len, reads))
    for known in (_LOWER, _UPPER):
        lines = list(map(known.__getitem__, lengths))
        if all(map(bytes.startswith, reads, lines)):
            return [data[len(line) : -2] for data, line in zip(reads, lines, strict=True)]
    return None

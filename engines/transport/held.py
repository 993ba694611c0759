"""Which reads of a stream that runs may wait to be parsed together."""

from __future__ import annotations

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


FRONT, BACK = slice(8, 40), slice(-32, None)
"""Parts of a read that brings a token: the first behind the size of its chunk, the other to its
end. Where both are those of one that may wait, and it is one event, the token alone is another."""


def is_like(data: bytes, front: bytes, back: bytes) -> bool:
    """Whether a read is a single event and has these two parts: to look through it costs more."""
    return (
        data[BACK] == back
        and data.startswith(front, FRONT.start)
        and data.find(b"\n", FRONT.start) == len(data) - 4
    )


def may_wait(data: bytes) -> bool:
    """Whether a read is not the end of an answer, as far as can be seen without parsing it.

    It ends with a chunk that ends with an event whose data is an object: so the message is not
    over, and its last event is not [DONE]. An error frame says so in some word. What is broken
    otherwise, or goes on behind its end, is found when what was held is parsed.
    """
    return data.endswith(_ENDS) and ERROR not in data and len(data) <= LONGEST_HELD

"""Which reads of a stream that runs may wait to be parsed together."""

from __future__ import annotations

from typing import Any

Held = tuple[bytes, Any, int]
"""What was read, its stamp, and the ns at which it was read where the stamp does not tell."""

MOST_HELD = 64
"""Reads of one stream that wait at most."""
LONGEST_HELD = 4096
"""Bytes of a read that waits: with ``MOST_HELD``, what one stream holds at most is 256 KiB."""

_ENDS = (b"}\n\n\r\n", b"}\r\n\r\n\r\n")


def may_wait(data: bytes) -> bool:
    """Whether a read is not the end of an answer, as far as can be seen without parsing it.

    It ends with a chunk that ends with an event whose data is an object: so the message is not
    over, and its last event is not [DONE]. An error frame says so in some word. What is broken
    otherwise, or goes on behind its end, is found when what was held is parsed.
    """
    return data.endswith(_ENDS) and b"error" not in data and len(data) <= LONGEST_HELD

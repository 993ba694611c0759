"""What the lead and a machine say to each other over the broker: keys and messages.

Each machine has two streams, one a way. A stream is read by position, so whoever loses its
connection reads on where it was; the machine numbers what it says, so the lead sees what is missing
or came twice.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

import msgspec

Message = dict[str, Any]

LEASE_S = 5.0
"""Seconds for which the lead's lease holds; machines stop sending when it has lapsed."""
RENEW_S = 1.0
"""Seconds between two renewals of it."""
FIRST_LEASE_S = 30.0
"""Seconds of the lease from before the machines are asked until the lead takes it over."""
BEAT_S = 1.0
"""Seconds after which a machine that had nothing to say says so."""
SILENCE_S = 6.0
"""Seconds without a word after which a machine is lost."""
KEPT_S = 600
"""Seconds after which the broker forgets streams that nobody has deleted."""
LINES = "lines"
"""The part of a message of samples that goes beside its JSON, compressed."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Names in the broker for one attempt at one run. ``token`` is drawn for it."""

    token: str

    @property
    def lease(self) -> str:
        """There while the lead lives."""
        return f"headway:crew:{self.token}:lease"

    def claim(self, number: int) -> str:
        """Who carries a slice: set once, so that a task that is delivered twice sends once."""
        return f"headway:crew:{self.token}:claim:{number}"

    def down(self, number: int) -> str:
        """What the lead says to the machine of a slice."""
        return f"headway:crew:{self.token}:down:{number}"

    def up(self, number: int) -> str:
        """What that machine says."""
        return f"headway:crew:{self.token}:up:{number}"

    def every(self, size: int) -> list[str]:
        """All of them, for ``size`` slices."""
        each = (self.claim, self.down, self.up)
        return [self.lease, *(name(number) for number in range(size) for name in each)]


def encode(message: Message) -> bytes:
    """JSON on one line, and the lines of samples behind it where there are some."""
    lines = message.get(LINES)
    if lines is None:
        return msgspec.json.encode(message)
    head = {name: value for name, value in message.items() if name != LINES}
    return msgspec.json.encode(head) + b"\n" + zlib.compress(lines, 1)


def decode(raw: bytes) -> Message:
    """What ``encode`` was given; ValueError where it is nothing of the kind."""
    head, _end, lines = raw.partition(b"\n")
    message: Message = json.loads(head)
    if not (isinstance(message, dict) and isinstance(message.get("type"), str)):
        raise ValueError(f"no message: {raw[:100]!r}")  # noqa: TRY004 - bytes that say nothing
    if lines:
        try:
            message[LINES] = zlib.decompress(lines)
        except zlib.error as error:
            raise ValueError(f"no lines: {error}") from None
    return message

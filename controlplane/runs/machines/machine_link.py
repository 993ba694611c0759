"""A machine's end of the streams: claims its slice, says what it measures, hears the lead."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from redis import Redis
from redis.exceptions import RedisError

from controlplane.runs.machines.wire import KEPT_S, LEASE_S, Keys, Message, decode, encode

BLOCK_MS = 250
CLAIM_S = 24 * 3600
"""Seconds for which a slice stays taken: longer than a task waits to be delivered again."""


class Link(Protocol):
    """What a relay needs of the way to its lead."""

    def alive(self) -> bool:
        """Whether the lead is there: its lease was seen within the time for which one holds."""

    def say(self, message: Message) -> None:
        """Number it and send it; RedisError where the broker does not take it."""

    def backlog(self) -> int:
        """How many messages the lead has not read yet."""

    def hear(self) -> list[Message]:
        """What the lead has said since, after at most a quarter of a second."""


class MachineLink:
    """One slice's, over redis-py. ``say`` may be called from two threads."""

    def __init__(
        self,
        client: Redis,
        keys: Keys,
        number: int,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._keys = keys
        self._number = number
        self._clock = clock
        self._turn = threading.Lock()
        self._said = 0
        self._at: bytes | str = "0"
        self._seen = clock()

    def claimed(self, node: str) -> bool:
        """Whether the slice is ours: for exactly one of those who ask, while the lead lives."""
        if not self._client.exists(self._keys.lease):
            return False
        key = self._keys.claim(self._number)
        return bool(self._client.set(key, node, nx=True, ex=CLAIM_S))

    def alive(self) -> bool:
        try:
            there = bool(self._client.exists(self._keys.lease))
        except RedisError:
            return self._clock() - self._seen < LEASE_S
        if there:
            self._seen = self._clock()
        return there

    def say(self, message: Message) -> None:
        key = self._keys.up(self._number)
        with self._turn:
            numbered = encode({**message, "n": self._said})
            pipe = self._client.pipeline(transaction=False)
            pipe.xadd(key, {"m": numbered})
            pipe.expire(key, KEPT_S)
            pipe.execute()
            self._said += 1

    def backlog(self) -> int:
        return int(self._client.xlen(self._keys.up(self._number)))

    def hear(self) -> list[Message]:
        key = self._keys.down(self._number)
        found: Any = self._client.xread({key: self._at}, block=BLOCK_MS)
        heard = []
        for _name, entries in found or ():
            for entry, fields in entries:
                self._at = entry
                heard.append(decode(fields[b"m"]))
        return heard

"""The lead's end of the streams: says to one machine, hears all of them."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis

from controlplane.runs.machines.wire import KEPT_S, Keys, Message, encode

AT_A_TIME = 16
"""Messages of one machine that are read together: bounds what is held in memory."""
BLOCK_MS = 500


class LeadLink:
    """Over a connection of redis-py's asyncio client, whose replies are bytes."""

    def __init__(self, client: Redis, keys: Keys, size: int) -> None:
        self._client = client
        self._keys = keys
        self._at: dict[str, bytes | str] = {keys.up(number): "0" for number in range(size)}
        self._numbers = {keys.up(number): number for number in range(size)}
        self._turn = asyncio.Lock()

    async def say(self, number: int, message: Message) -> None:
        """To the machine of that slice, in the order in which it was asked for. RedisError."""
        key = self._keys.down(number)
        async with self._turn:
            pipe = self._client.pipeline(transaction=False)
            pipe.xadd(key, {"m": encode(message)})
            pipe.expire(key, KEPT_S)
            await pipe.execute()

    async def hear(self) -> list[tuple[int, bytes]]:
        """What the machines have said since the last time, as it came, oldest first; RedisError."""
        found: Any = await self._client.xread(self._at, count=AT_A_TIME, block=BLOCK_MS)
        heard = []
        for name, entries in found or ():
            key = name.decode()
            for entry, fields in entries:
                heard.append((self._numbers[key], fields[b"m"]))
                self._at[key] = entry
            await self._client.xdel(key, *(entry for entry, _fields in entries))
        return heard

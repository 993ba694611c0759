"""Whatever connections hold back is parsed soon, one connection after the other.

Parsing what one connection holds takes a tenth of a millisecond; that of hundreds at once would
make the next request late. So between two of them the event loop gets its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from engines.transport.connection import Connection

EACH = 0.5
"""Seconds between two rounds: what is held at two of them is parsed, so nothing waits for longer
than two."""


class Settling:
    """Goes round a transport's connections for as long as one of them carries something."""

    def __init__(self, connections: Collection[Connection]) -> None:
        self._connections = connections
        self._due: list[Connection] = []
        self._handle: asyncio.Handle | None = None

    def soon(self) -> None:
        """Something is being carried."""
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_later(EACH, self._round)

    def stop(self) -> None:
        """Nothing is carried any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    async def all(self) -> None:
        """Have every connection parse what it holds by now."""
        for connection in list(self._connections):
            if connection.held is not None and connection.held.data:
                connection.settle()
                await asyncio.sleep(0)

    def _round(self) -> None:
        self._due = [connection for connection in self._connections if connection.overdue()]
        self._next()

    def _next(self) -> None:
        if self._due:
            self._due.pop().settle()
            self._handle = asyncio.get_running_loop().call_soon(self._next)
            return
        self._handle = None
        if any(connection.unfinished for connection in self._connections):
            self.soon()

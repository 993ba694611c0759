"""The connections to one engine: kept alive, most recently used first."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from engines.egress import EgressDenied, EgressRules, Pinned, resolve
from engines.transport.dial import DialError, dial
from gateway.upstream.connection import UpstreamConnection
from measurement.outcome import Outcome

KEEP_ALIVE = 1024
IDLE_LIMIT = 30.0
PIN_FOR = 60.0
"""Seconds for which a resolved address is trusted."""


class Pool:
    """Hands out connections to one URL. What is taken is given back or aborted, never lost."""

    def __init__(self, url: str, rules: EgressRules, clock: Callable[[], float]) -> None:
        self._url = url
        self._rules = rules
        self._clock = clock
        self._resting: dict[UpstreamConnection, None] = {}
        self._all: set[UpstreamConnection] = set()
        self._pinned: Pinned | None = None
        self._pinned_at = 0.0
        self._tls: ssl.SSLContext | None = None
        self._retired = False
        self.dialled = 0

    @property
    def open(self) -> int:
        """Connections that are open, at rest or not."""
        return len(self._all)

    @property
    def resting(self) -> int:
        """Connections at rest."""
        return len(self._resting)

    def take(self) -> UpstreamConnection | None:
        """The connection that rested last, if one is fresh enough."""
        now = self._clock()
        while self._resting:
            connection, _ = self._resting.popitem()
            if not connection.closing and now - connection.rested_at < IDLE_LIMIT:
                return connection
            connection.abort()
        return None

    async def dial(self, within: float) -> UpstreamConnection:
        """A new connection, or DialError."""
        try:
            async with asyncio.timeout(within):
                pinned = await self._pin()
                self.dialled += 1
                made = await dial(pinned, self._connection, self._context(pinned))
        except TimeoutError:
            reason = f"no connection within {within:g} s"
            raise DialError(Outcome.TIMEOUT_CONNECT, reason) from None
        except socket.gaierror as error:
            raise DialError(Outcome.DNS, str(error.strerror)) from None
        except EgressDenied as error:
            raise DialError(Outcome.CONNECT, str(error)) from None
        if not made.closing:
            self._all.add(made)
        return made

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keep it for the next request, or close it when it can't carry one."""
        room = len(self._resting) < KEEP_ALIVE and not self._retired
        if room and connection.reusable and not connection.closing:
            connection.rested_at = self._clock()
            self._resting[connection] = None
        else:
            connection.abort()

    def close(self) -> None:
        """Close every connection, at rest or not."""
        self._resting.clear()
        for connection in list(self._all):
            connection.abort()

    def retire(self) -> None:
        """Close what rests; what carries a request is closed when it comes back."""
        self._retired = True
        for connection in self._resting:
            connection.abort()
        self._resting.clear()

    def _connection(self) -> UpstreamConnection:
        return UpstreamConnection(self._clock, self._lost)

    def _lost(self, connection: UpstreamConnection) -> None:
        self._all.discard(connection)
        self._resting.pop(connection, None)

    async def _pin(self) -> Pinned:
        now = self._clock()
        if self._pinned is None or now - self._pinned_at > PIN_FOR:
            self._pinned = await resolve(self._url, self._rules)
            self._pinned_at = now
        return self._pinned

    def _context(self, pinned: Pinned) -> ssl.SSLContext | None:
        if not pinned.tls:
            return None
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

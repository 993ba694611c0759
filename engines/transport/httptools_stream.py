"""Our own HTTP/1.1 client on asyncio and httptools: it costs least per chunk, and stamps first.

It takes no proxy but the one that its rules name, follows no redirect, and has no hidden limit: as
many connections as there are requests, and a cap only on those kept alive at rest.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable
from urllib.parse import urlsplit

from engines.egress import EgressDenied, EgressRules, Lookup, Pinned, way_to
from engines.transport.base import Ending, Exchange, HttpRequest
from engines.transport.connection import Connection
from engines.transport.dial import DialError, connect, speak
from engines.transport.harvest import Harvest
from engines.transport.kernel_clock import KernelClock, ReceiveLag
from engines.transport.kernel_stream import KernelStream
from engines.transport.patient_timeout import patient_timeout
from engines.transport.settling import Settling
from engines.transport.tunnel import tunnel
from measurement.outcome import Outcome

Origin = tuple[str, str]

LINGER = 0.5
"""Seconds that a server may take to end its message behind [DONE] for its connection to be kept."""


class HttptoolsTransport:
    """Carries exchanges to any origin that the egress rules allow.

    ``keep_alive`` caps the connections at rest, ``idle_limit`` the seconds one may rest. A name is
    resolved and checked once per origin and pinned for the life of the transport. With a
    ``kernel_clock``, plain HTTP is stamped by the kernel; TLS is not, since what the kernel sees
    are records and not events.
    """

    def __init__(
        self,
        rules: EgressRules,
        *,
        keep_alive: int = 4096,
        idle_limit: float = 60.0,
        ssl_context: ssl.SSLContext | None = None,
        lookup: Lookup | None = None,
        kernel_clock: KernelClock | None = None,
    ) -> None:
        self._rules = rules
        self._keep_alive = keep_alive
        self._idle_limit = idle_limit
        self._ssl_context = ssl_context
        self._lookup = lookup
        self._kernel_clock = kernel_clock
        self._harvest = Harvest(kernel_clock) if kernel_clock is not None else None
        self._pinned: dict[Origin, Pinned] = {}
        self._resolving: dict[Origin, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._resting: dict[Origin, dict[Connection, float]] = defaultdict(dict)
        self._all: set[Connection] = set()
        self._settling = Settling(self._all)
        self._dialled = 0

    async def prepare(self, url: str) -> None:
        """Resolve and check a URL; EgressDenied when forbidden, nothing when it has no address."""
        try:
            await self._pin(_origin(url), url)
        except socket.gaierror:
            return

    def begin(self, exchange: Exchange) -> bool:
        """Send over a connection at rest; False where there is none."""
        origin, head = self._head(exchange)
        resting = self._take(origin)
        if resting is None:
            return False
        exchange.carrier = resting
        try:
            self._start(resting, exchange, head)
        except Exception as error:  # noqa: BLE001 - comes out of the call, as all of the sink's do
            exchange.defect(error)
        return True

    async def exchange(self, exchange: Exchange) -> Ending:
        """Send over a resting connection, or a new one; once more if the resting one was stale."""
        origin, head = self._head(exchange)
        if exchange.carrier is not None or self.begin(exchange):
            resting: Connection = exchange.carrier
            ending = await self._carry(resting, origin, exchange)
            if not resting.stale or ending.outcome is not Outcome.INCOMPLETE:
                return ending
            exchange.renew()
        try:
            connection = await self._open(origin, exchange)
        except DialError as error:
            outcome = Outcome.DROPPED if error.ours else error.outcome
            return Ending(exchange.clock(), outcome, str(error))
        except EgressDenied as error:
            return Ending(exchange.clock(), Outcome.CONNECT, str(error))
        return await self._carry(connection, origin, exchange, head)

    async def close(self) -> None:
        """Close every connection, at rest or not."""
        for connection in list(self._all):
            connection.abort()
        self._resting.clear()
        self._settling.stop()
        await asyncio.sleep(0)

    def between(self, look: Callable[[], None]) -> None:
        """Have it called between two sockets that are read in one turn."""
        if self._harvest is not None:
            self._harvest.between = look

    async def settle(self) -> None:
        """Hand on what has been read and held back."""
        await self._settling.all()

    def _head(self, exchange: Exchange) -> tuple[Origin, bytes]:
        asked = exchange.request
        through = self._rules.proxy is not None
        return _head(asked.method, asked.url, asked.headers, through=through)

    def _start(self, connection: Connection, exchange: Exchange, head: bytes) -> None:
        body = exchange.request.body
        connection.start(exchange, head + b"%d\r\n\r\n" % len(body) + body)
        self._settling.soon()

    async def _carry(
        self, connection: Connection, origin: Origin, exchange: Exchange, head: bytes | None = None
    ) -> Ending:
        """To its end; a ``head`` starts it."""
        try:
            if head is not None:
                self._start(connection, exchange, head)
            ending = await exchange.ended
        except BaseException:
            connection.abort()
            raise
        if ending.outcome is None and connection.unfinished:
            connection.finish_alone(lambda done: self._settle(done, origin), within=LINGER)
        else:
            self._settle(connection, origin)
        return ending

    def _settle(self, connection: Connection, origin: Origin) -> None:
        """To rest where it may be used again, else closed."""
        if connection.reusable and not connection.closing:
            self._rest(connection, origin)
        else:
            connection.abort()

    async def _open(self, origin: Origin, exchange: Exchange) -> Connection:
        within = exchange.connect_within
        try:
            async with patient_timeout(within):
                pinned = await self._pin(origin, exchange.request.url)
                self._dialled += 1
                connection = await self._dial(pinned, exchange.request.url)
        except TimeoutError:
            reason = f"no connection to {origin[1]} within {within:g} s"
            raise DialError(Outcome.TIMEOUT_CONNECT, reason) from None
        except socket.gaierror as error:
            proxy = self._rules.proxy
            where = origin[1] if proxy is None else f"proxy {proxy.host}"
            raise DialError(Outcome.DNS, f"{where}: {error.strerror}") from None
        if not connection.closing:
            self._all.add(connection)
        return connection

    async def _dial(self, pinned: Pinned, url: str) -> Connection:
        sock = await connect(pinned)
        if self._rules.proxy is not None:
            pinned = await self._through(sock, pinned, url)
        if self._kernel_clock is None or self._harvest is None or pinned.tls:
            return await speak(sock, pinned, lambda: Connection(self._lost), self._context(pinned))
        connection = Connection(self._lost)
        KernelStream(sock, connection, self._kernel_clock, self._harvest)
        return connection

    async def _through(self, sock: socket.socket, proxy: Pinned, url: str) -> Pinned:
        """Who is at the other end of a socket to the proxy, once it has let us through."""
        host, port, tls = self._rules.check_url(url)
        if tls:
            try:
                await tunnel(sock, host, port)
            except BaseException:
                sock.close()
                raise
        return Pinned(host, port, tls, proxy.addresses)

    @property
    def dialled(self) -> int:
        """Connections opened so far."""
        return self._dialled

    def receive_lag(self) -> ReceiveLag | None:
        """How late bytes were read, where the kernel's stamps tell."""
        return self._kernel_clock.lag() if self._kernel_clock is not None else None

    def _context(self, pinned: Pinned) -> ssl.SSLContext | None:
        if not pinned.tls:
            return None
        if self._ssl_context is None:
            self._ssl_context = ssl.create_default_context()
        return self._ssl_context

    async def _pin(self, origin: Origin, url: str) -> Pinned:
        if (known := self._pinned.get(origin)) is not None:
            return known
        async with self._resolving[origin]:
            if origin not in self._pinned:
                self._pinned[origin] = await way_to(url, self._rules, lookup=self._lookup)
            return self._pinned[origin]

    # Connections at rest

    def _take(self, origin: Origin) -> Connection | None:
        """The connection that rested last, if one is fresh enough."""
        resting = self._resting.get(origin)
        now = asyncio.get_running_loop().time()
        while resting:
            connection, since = resting.popitem()
            limit = self._idle_limit
            if connection.idle_limit is not None:
                # Half a second early: the server must not close just as we send.
                limit = min(limit, connection.idle_limit - 0.5)
            if not connection.closing and now - since < limit:
                return connection
            connection.abort()
        return None

    def _rest(self, connection: Connection, origin: Origin) -> None:
        if sum(map(len, self._resting.values())) >= self._keep_alive:
            connection.abort()
        else:
            self._resting[origin][connection] = asyncio.get_running_loop().time()

    def _lost(self, connection: Connection) -> None:
        self._all.discard(connection)
        for resting in self._resting.values():
            resting.pop(connection, None)


def _origin(url: str) -> Origin:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


@functools.lru_cache(maxsize=256)
def _head(
    method: str, url: str, headers: tuple[tuple[str, str], ...], *, through: bool
) -> tuple[Origin, bytes]:
    """The origin of a request, and its head up to the value of Content-Length.

    ``through`` a proxy, http is asked for by its whole URL; https goes through a tunnel.
    """
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if through and parts.scheme == "http":
        path = f"http://{parts.netloc}{path}"
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Accept: */*",
        "Accept-Encoding: identity",
        *(f"{name}: {value}" for name, value in headers),
        "Content-Length: ",
    ]
    if any(not line.isascii() or not line.isprintable() for line in lines):
        raise ValueError("a URL or header holds a character that HTTP does not allow")
    return _origin(url), "\r\n".join(lines).encode("ascii")


__all__ = ["HttpRequest", "HttptoolsTransport"]

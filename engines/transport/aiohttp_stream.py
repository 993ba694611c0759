"""The same exchanges over aiohttp: for what our own client does not speak, at its cost.

It costs two to four times as much per chunk, and stamps when the event loop comes to the bytes.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from engines.egress import EgressDenied, EgressRules, Lookup, Pinned, way_to
from engines.transport.aiohttp_faults import ending_of
from engines.transport.base import Ending, Exchange
from engines.transport.connection import HEAD_LIMIT
from engines.transport.decoding import BodyDecoder
from engines.transport.dial import refused
from engines.transport.httptools_stream import LINGER
from engines.transport.kernel_clock import ReceiveLag
from engines.transport.patient_timeout import patient_timeout
from measurement.outcome import Outcome

_READ = 1 << 18


class AiohttpTransport:
    """Carries exchanges to any origin that the egress rules allow; names are pinned at first use.

    No proxy but the one that its rules name, no redirect, no cap on connections.
    """

    def __init__(
        self,
        rules: EgressRules,
        *,
        ssl_context: ssl.SSLContext | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        self._rules = rules
        self._ssl_context = ssl_context
        self._lookup = lookup
        self._pinned: dict[tuple[str, str], Pinned] = {}
        self._session: aiohttp.ClientSession | None = None
        self._lingering: set[asyncio.Task[None]] = set()
        self._dialled = 0

    @property
    def dialled(self) -> int:
        """Connections opened so far."""
        return self._dialled

    def receive_lag(self) -> ReceiveLag | None:
        """Nothing stamps what it reads."""
        return None

    def between(self, look: Callable[[], None]) -> None:
        """Each socket is read in a turn of its own."""

    async def settle(self) -> None:
        """Nothing is held back."""

    async def prepare(self, url: str) -> None:
        """Resolve and check a URL; EgressDenied when forbidden, nothing when it has no address."""
        try:
            await self._pin(url)
        except socket.gaierror:
            return

    def begin(self, exchange: Exchange) -> bool:  # noqa: ARG002 - the protocol's
        """Never: aiohttp sends in its own time."""
        return False

    async def exchange(self, exchange: Exchange) -> Ending:
        """Send the request; once more if the connection at rest that took it was stale."""
        try:
            async with patient_timeout(exchange.connect_within):
                await self._pin(exchange.request.url)
        except TimeoutError:
            return Ending(exchange.clock(), Outcome.TIMEOUT_CONNECT, _no_connection(exchange))
        except socket.gaierror as error:
            proxy = self._rules.proxy
            where = f"proxy {proxy.host}" if proxy else urlsplit(exchange.request.url).netloc
            return Ending(exchange.clock(), Outcome.DNS, f"{where}: {error.strerror}")
        except EgressDenied as error:
            return Ending(exchange.clock(), Outcome.CONNECT, str(error))
        context = SimpleNamespace(exchange=exchange, reused=False, answered=False)
        ending = await self._carry(exchange, context)
        if ending.outcome is Outcome.INCOMPLETE and context.reused and not context.answered:
            exchange.renew()
            context.reused = False
            return await self._carry(exchange, context)
        return ending

    async def close(self) -> None:
        """Close every connection, at rest or not."""
        for task in self._lingering:
            task.cancel()
        await asyncio.gather(*self._lingering, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def _carry(self, exchange: Exchange, context: SimpleNamespace) -> Ending:
        task = asyncio.create_task(self._fetch(exchange, context))
        try:
            both: set[asyncio.Future[Any]] = {task, exchange.ended}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not exchange.ended.done():
                task.result()
            ending = await exchange.ended
        except BaseException:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        if task.done():
            return ending
        if ending.outcome is None:
            self._linger(task)
        else:
            task.cancel()
        return ending

    def _linger(self, task: asyncio.Task[None]) -> None:
        """The caller has its answer; the message is read to its end, if that comes soon."""
        self._lingering.add(task)
        handle = asyncio.get_running_loop().call_later(LINGER, task.cancel)
        task.add_done_callback(lambda _: handle.cancel())
        task.add_done_callback(self._lingering.discard)

    async def _fetch(self, exchange: Exchange, context: SimpleNamespace) -> None:
        """The whole message into the sink; however it ends, the exchange is told."""
        try:
            async with self._request(exchange, context) as answer:
                await _read(answer, exchange, context)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - told apart there; a sink's defect comes out
            ending = ending_of(error, exchange, answered=context.answered)
            if ending is None:
                exchange.defect(error)
            else:
                exchange.end(*ending)

    def _request(self, exchange: Exchange, context: SimpleNamespace) -> Any:
        request = exchange.request
        return self._opened().request(
            request.method,
            request.url,
            data=request.body,
            headers=[("Accept-Encoding", "identity"), *request.headers],
            skip_auto_headers=("User-Agent",),
            allow_redirects=False,
            proxy=None if self._rules.proxy is None else self._rules.proxy.url,
            timeout=aiohttp.ClientTimeout(total=None, connect=exchange.connect_within),
            trace_request_ctx=context,
        )

    def _opened(self) -> aiohttp.ClientSession:
        """The session, made within the event loop that carries it."""
        if self._session is None:
            context: ssl.SSLContext | bool = self._ssl_context or True
            connector = _Connector(
                limit=0, keepalive_timeout=60.0, ssl=context, resolver=_Pins(self._pinned)
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trace_configs=[self._trace()],
                read_bufsize=_READ,
            )
        return self._session

    def _trace(self) -> aiohttp.TraceConfig:
        trace = aiohttp.TraceConfig()

        async def made(_session: Any, _context: Any, _params: Any) -> None:
            self._dialled += 1

        async def reused(_session: Any, context: Any, _params: Any) -> None:
            context.trace_request_ctx.reused = True

        async def sending(_session: Any, context: Any, _params: Any) -> None:
            exchange: Exchange = context.trace_request_ctx.exchange
            exchange.sink.on_sent(exchange.clock())

        trace.on_connection_create_start.append(made)
        trace.on_connection_reuseconn.append(reused)
        trace.on_request_headers_sent.append(sending)
        return trace

    async def _pin(self, url: str) -> None:
        parts = urlsplit(url)
        origin = parts.scheme, parts.netloc.lower()
        if origin not in self._pinned:
            self._pinned[origin] = await way_to(url, self._rules, lookup=self._lookup)


async def _read(
    answer: aiohttp.ClientResponse, exchange: Exchange, context: SimpleNamespace
) -> None:
    context.answered = True
    headers: dict[str, str] = {}
    for name, value in answer.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    if sum(len(name) + len(value) for name, value in answer.headers.items()) > HEAD_LIMIT:
        exchange.end(Outcome.MALFORMED, f"headers over {HEAD_LIMIT:,} bytes")
        return
    if answer.status == 101:
        exchange.end(Outcome.MALFORMED, "the server wants to switch protocols")
        return
    exchange.sink.on_head(answer.status, headers)
    decoder = BodyDecoder.of(headers.get("content-encoding", ""))
    at = exchange.clock()
    while data := await answer.content.readany():
        at = exchange.clock()
        exchange.sink.on_body(at, decoder.decode(data) if decoder is not None else data)
    exchange.end(None, at=at)


class _Connector(aiohttp.TCPConnector):
    """Takes no socket that met itself for a connection to a server, and gives up waiting for one in
    our own way: aiohttp's rounds a time-out of over 5 s up to the next whole second."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        async with patient_timeout(math.inf if timeout.connect is None else timeout.connect):
            made = await super().connect(req, traces, aiohttp.ClientTimeout(total=None))
        transport = made.transport
        if transport is None or transport.get_extra_info("sockname") != (
            transport.get_extra_info("peername")
        ):
            return made
        error = refused(transport.get_extra_info("socket"))
        made.close()
        raise aiohttp.ClientConnectorError(req.connection_key, error)


class _Pins(AbstractResolver):
    """Answers with the addresses that were checked, and asks nobody."""

    def __init__(self, pinned: dict[tuple[str, str], Pinned]) -> None:
        self._pinned = pinned

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002
    ) -> list[ResolveResult]:
        for pinned in self._pinned.values():
            if (pinned.host, pinned.port) == (host, port):
                return [_result(host, port, address) for address in pinned.addresses]
        raise OSError(None, f"{host} was not checked")

    async def close(self) -> None:
        """Nothing is held."""


def _result(host: str, port: int, address: str) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flags = socket.AI_NUMERICHOST
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=0, flags=flags
    )


def _no_connection(exchange: Exchange) -> str:
    where = urlsplit(exchange.request.url).netloc
    return f"no connection to {where} within {exchange.connect_within:g} s"

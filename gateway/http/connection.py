"""A client's connection: bytes in, whole requests out, one at a time, within bounds.

Deadlines are looked at by one sweep over all connections a second, so a request sets no timer.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import httptools

from gateway.config_parts import ClientLimits
from gateway.errors import Refusal
from gateway.http.exchange import Exchange
from gateway.http.message import Request, status_line

MAX_HEAD_BYTES = 64 * 1024
MAX_PIPELINED = 16
MAX_UNSENT = 256 * 1024
"""Bytes that wait for a client before its engine is asked to pause."""


@dataclass(slots=True, eq=False)
class Door:
    """What all connections of a server share."""

    app: Callable[[Exchange], None]
    clock: Callable[[], float]
    limits: Callable[[], ClientLimits]
    connections: set[ClientConnection]
    closing: bool = False
    """No request is taken any more after the one under way."""

    def sweep(self, now: float) -> None:
        """Close every connection whose time is over."""
        for connection in [c for c in self.connections if c.deadline < now]:
            connection.overdue()

    def close(self) -> None:
        """Let each connection end with its answer; those at rest end now."""
        self.closing = True
        for connection in list(self.connections):
            connection.leave()


class ClientConnection(asyncio.Protocol):
    """httptools reads; bounds are on the head, the body, the times and what is pipelined."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._pending: deque[Request] = deque()
        self._exchange: Exchange | None = None
        self._refused: Refusal | None = None
        self._last = False
        """Nothing more is read; it closes after what was asked before."""
        self.deadline = math.inf
        self._head_size = 0
        self._fresh()

    def _fresh(self) -> None:
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._size = 0
        self._in_head = True
        self._idle = True

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=MAX_UNSENT)
        self._door.connections.add(self)
        self._wait(self._door.limits().head_s)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._door.connections.discard(self)
        self._transport = None
        self._pending.clear()
        if self._exchange is not None:
            self._exchange.lost()

    def pause_writing(self) -> None:
        self._wait(self._door.limits().stall_s)
        if self._exchange is not None:
            self._exchange.fill(full=True)

    def resume_writing(self) -> None:
        if self._exchange is not None:
            self.deadline = math.inf
            self._exchange.fill(full=False)

    def data_received(self, data: bytes) -> None:
        if self._last:
            return
        self._begun(len(data))
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, Refusal) else _unreadable("broken head"))
        except httptools.HttpParserUpgrade:
            self._read_no_more()
        except httptools.HttpParserError as error:
            self._refuse(_unreadable(str(error)))
        if self._in_head and self._head_size > MAX_HEAD_BYTES and not self._last:
            self._refuse(_head_too_large())

    def _begun(self, size: int) -> None:
        if self._idle:
            self._idle = False
            if self._exchange is None:
                self._wait(self._door.limits().head_s)
        if self._in_head:
            self._head_size += size

    # httptools' side

    def on_message_begin(self) -> None:
        self._fresh()
        self._idle = False

    def on_url(self, url: bytes) -> None:
        self._target += url
        if len(self._target) > MAX_HEAD_BYTES:
            raise _head_too_large()

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        limit = self._door.limits().body_bytes
        if name == b"content-length" and value.isdigit() and int(value) > limit:
            raise _body_too_large(limit)
        if name == b"expect" and value.lower() == b"100-continue" and self._transport:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_size = 0
        if self._exchange is None:
            self._wait(self._door.limits().body_s)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        self._size += len(body)
        limit = self._door.limits().body_bytes
        if self._size > limit:
            raise _body_too_large(limit)

    def on_message_complete(self) -> None:
        request = Request(
            self._parser.get_method(),
            self._target,
            self._headers,
            self._body[0] if len(self._body) == 1 else b"".join(self._body),
            keep_alive=self._parser.should_keep_alive() and not self._door.closing,
            chunked=self._parser.get_http_version() != "1.0",
        )
        self._fresh()
        if len(self._pending) >= MAX_PIPELINED:
            raise Refusal(400, "too_many_pipelined", "Too many requests are pipelined.")
        self._pending.append(request)
        if self._exchange is None:
            self._next()

    # Ends and deadlines

    def overdue(self) -> None:
        """The time that it had is over: answer 408 in the middle of a request, else just close."""
        if self._exchange is None and not self._idle and not self._last:
            self._refuse(Refusal(408, "request_timeout", "The request took too long to arrive."))
        elif self._transport is not None:
            self._transport.abort()

    def leave(self) -> None:
        """Close now when at rest, else after the answer under way."""
        if self._exchange is not None:
            if not self._exchange.begun:
                self._exchange.keep_alive = False
            self._last = not self._pending
        elif self._idle and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Break it, whatever is being said."""
        if self._transport is not None:
            self._transport.abort()

    def _wait(self, seconds: float) -> None:
        self.deadline = self._door.clock() + seconds

    def _next(self) -> None:
        """Hand on the next request that waits."""
        self._exchange = None
        transport = self._transport
        if transport is None or transport.is_closing():
            self._wait(self._door.limits().stall_s)
            return
        if self._pending:
            self.deadline = math.inf
            request = self._pending.popleft()
            self._exchange = exchange = Exchange(transport, request, self._next)
            self._door.app(exchange)
        elif self._last or self._door.closing:
            self._say_refused()
            transport.close()
        else:
            self._wait(self._door.limits().idle_s if self._idle else self._door.limits().head_s)

    def _read_no_more(self) -> None:
        self._last = True
        if self._exchange is None and self._transport is not None:
            self._say_refused()
            self._transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer what can't be read once everything before it is answered, and read no more."""
        self._refused = refusal
        self._read_no_more()

    def _say_refused(self) -> None:
        refusal, self._refused = self._refused, None
        if refusal is not None and self._transport is not None:
            body = refusal.body()
            fields = b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body)
            head = status_line(refusal.status) + fields + b"connection: close\r\n\r\n"
            self._transport.write(head + body)


def _unreadable(why: str) -> Refusal:
    return Refusal(400, "bad_request", f"This is no HTTP/1.1 request: {why}.")


def _head_too_large() -> Refusal:
    return Refusal(431, "head_too_large", f"The head is over {MAX_HEAD_BYTES} bytes.")


def _body_too_large(limit: int) -> Refusal:
    return Refusal(413, "body_too_large", f"The body is over {limit} bytes.")

"""A connection: bytes in, whole requests out to the app, one at a time, within bounds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import cast

import httptools

from simulator.errors import ApiError
from simulator.http.exchange import Exchange
from simulator.http.message import JSON, HttpRequest, head

App = Callable[[HttpRequest, Exchange], None]

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_UNSENT_BYTES = 8 * 1024 * 1024
"""A client that reads so slowly that this much waits for it is cut off."""
MAX_PIPELINED = 16


class Connection(asyncio.Protocol):
    """httptools reads; bounds are on the head, the body, what waits and what is pipelined."""

    def __init__(self, app: App, connections: set[Connection]) -> None:
        self._app = app
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body = bytearray()
        self._head_bytes = 0
        self._in_head = True
        self._refused = False
        self._exchange: Exchange | None = None
        self._pending: deque[tuple[HttpRequest, bool, bool]] = deque()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._connections.discard(self)
        self._pending.clear()
        if self._exchange is not None:
            self._exchange.lost()

    def pause_writing(self) -> None:
        self.close()

    def close(self) -> None:
        """Break the connection, whatever is being said."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, ApiError) else ApiError(400, "Bad request"))
        except httptools.HttpParserUpgrade:
            self._read_no_more()  # the request before the upgrade has its answer; no more is read
        except httptools.HttpParserError as error:
            self._refuse(ApiError(400, f"Not HTTP: {error}"))
        else:
            if self._in_head and self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(_head_too_large())

    # httptools' side

    def on_message_begin(self) -> None:
        self._url = b""
        self._body = bytearray()
        self._in_head = True

    def on_url(self, url: bytes) -> None:
        self._url += url
        if len(self._url) > MAX_HEAD_BYTES:
            raise _head_too_large()

    def on_header(self, name: bytes, value: bytes) -> None:
        lowered = name.lower()
        if lowered == b"content-length" and value.isdigit() and int(value) > MAX_BODY_BYTES:
            raise _body_too_large()
        if lowered == b"expect" and value.lower() == b"100-continue" and self._transport:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > MAX_BODY_BYTES:
            raise _body_too_large()

    def on_message_complete(self) -> None:
        self._in_head = True
        path = httptools.parse_url(self._url).path or b"/"
        request = HttpRequest(
            self._parser.get_method().decode("latin-1"), path.decode("latin-1"), bytes(self._body)
        )
        keep_alive = bool(self._parser.should_keep_alive())
        chunked = self._parser.get_http_version() != "1.0"
        if len(self._pending) >= MAX_PIPELINED:
            raise ApiError(400, "Too many requests pipelined")
        self._pending.append((request, keep_alive, chunked))
        if self._exchange is None:
            self._next()

    def _next(self) -> None:
        """Hand the next request that waits to the app."""
        self._exchange = None
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self._pending:
            request, keep_alive, chunked = self._pending.popleft()
            self._exchange = exchange = Exchange(
                transport, keep_alive=keep_alive, chunked=chunked, done=self._next
            )
            self._app(request, exchange)
        elif self._refused:
            transport.close()

    def _read_no_more(self) -> None:
        """Close once what was asked before is answered."""
        self._refused = True
        if self._exchange is None and self._transport is not None:
            self._transport.close()

    def _refuse(self, error: ApiError) -> None:
        """Answer what can't be read, if nothing is being said, and read no more."""
        transport = self._transport
        if self._exchange is None and transport is not None and not transport.is_closing():
            body = error.body()
            fields = [("content-type", JSON), ("content-length", str(len(body)))]
            transport.write(head(error.status, [*fields, ("connection", "close")]) + body)
        self._read_no_more()


def _head_too_large() -> ApiError:
    return ApiError(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"The head is over {MAX_HEAD_BYTES} bytes"
    )


def _body_too_large() -> ApiError:
    return ApiError(413, f"The body is over {MAX_BODY_BYTES} bytes")

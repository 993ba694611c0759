"""One connection to an engine: what arrives is stamped, then handed on as it came.

Unlike the load test's connection it decodes nothing, keeps headers as they were written, and can be
asked to pause while a client is slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from engines.transport.base import Ending
from gateway.http.message import RawHeaders
from measurement.outcome import Outcome

HEAD_LIMIT = 64 * 1024


class Taker(Protocol):
    """Who takes an answer. ``at`` was read when the bytes came, before anything parsed them."""

    def on_head(self, at: float, status: int, headers: RawHeaders) -> None: ...

    def on_body(self, at: float, data: bytes) -> None: ...

    def on_end(self, ending: Ending) -> None:
        """Called once: outcome None means that the whole answer came."""


class UpstreamConnection(asyncio.Protocol):
    """Carries one request at a time. ``reusable`` when it is at rest and may carry another."""

    def __init__(
        self, clock: Callable[[], float], on_lost: Callable[[UpstreamConnection], None]
    ) -> None:
        self._clock = clock
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._taker: Taker | None = None
        self._paused = False
        self.answered = False
        """Bytes of an answer have come."""
        self.served = 0
        self.reusable = False
        self.rested_at = 0.0
        self._begin()

    def _begin(self) -> None:
        self._headers: RawHeaders = []
        self._head_size = 0
        self._head_ready = False
        self._framed = False
        self._parts: list[bytes] = []
        self._complete = False
        self.answered = False

    @property
    def closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport is None or self._transport.is_closing()

    def start(self, taker: Taker, request: bytes) -> float:
        """Send a request; when its first byte was handed to the socket."""
        self._begin()
        self.reusable = False
        self._taker = taker
        at = self._clock()
        if self._transport is None:
            self._end(Ending(at, Outcome.INCOMPLETE, "closed before the request was sent"))
        else:
            self._transport.write(request)
        return at

    def abort(self) -> None:
        """Close at once, telling nobody."""
        self._taker = None
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def pause(self, full: bool) -> None:  # noqa: FBT001 - the protocol's own yes or no
        """Read no more while the client is full."""
        if self._transport is None or self._transport.is_closing() or full == self._paused:
            return
        self._paused = full
        if full:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        taker = self._taker
        if taker is None:  # nobody asked: it can't be told apart from the next answer
            self.abort()
            return
        at = self._clock()
        self.answered = True
        fault = ""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            fault = "the engine wants to switch protocols"
        except httptools.HttpParserError as error:
            fault = f"no HTTP/1.1 answer: {error.__context__ or error}"
        self._hand_on(taker, at)
        if self._complete:
            self.reusable = self.reusable and not fault
            self._end(Ending(at))
        elif fault:
            self._end(Ending(at, Outcome.MALFORMED, fault))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.reusable = False
        self._on_lost(self)
        if self._taker is None:
            return
        why = "" if exc is None else f": {exc}"
        at = self._clock()
        if not self.answered:
            self._end(Ending(at, Outcome.INCOMPLETE, f"closed before any answer{why}"))
        elif self._headers_done and not self._framed and exc is None:
            self._end(Ending(at))
        else:
            self._end(Ending(at, Outcome.INCOMPLETE, f"closed before the answer's end{why}"))

    @property
    def _headers_done(self) -> bool:
        return not self._head_ready and bool(self._headers)

    # httptools' calls

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > HEAD_LIMIT:
            raise ValueError(f"headers over {HEAD_LIMIT:,} bytes")
        name = name.lower()
        self._framed = self._framed or name in (b"content-length", b"transfer-encoding")
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # 100 Continue, 103 Early Hints: the answer is still to come
            self._headers = []
            self._framed = False
            return
        self._framed = self._framed or status in (204, 304)
        self._head_ready = True

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200:
            self._complete = True
            self.reusable = self._parser.should_keep_alive()

    def on_message_begin(self) -> None:
        if self._complete:
            raise ValueError("a second answer to one request")

    # From one to the other

    def _hand_on(self, taker: Taker, at: float) -> None:
        if self._head_ready:
            self._head_ready = False
            taker.on_head(at, self._parser.get_status_code(), self._headers)
        if self._parts:
            body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts = []
            taker.on_body(at, body)

    def _end(self, ending: Ending) -> None:
        taker, self._taker = self._taker, None
        self.served += 1
        self.pause(full=False)
        if taker is not None:
            taker.on_end(ending)

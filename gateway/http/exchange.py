"""One request's answer on a client's connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from gateway.http.message import JSON, RawHeaders, Request, status_line, written

Extra = Iterable[tuple[str, str]]


class Exchange:
    """``respond`` once, or ``start``, ``write`` … and ``finish`` or ``cut``.

    After the client went away every method does nothing; ``on_gone`` is called when it goes.
    ``on_full`` says when the client takes too slowly (True), and when it has caught up (False).
    """

    __slots__ = (
        "_chunk", "_done", "_transport", "begun", "full", "gone", "keep_alive", "on_full",
        "on_gone", "over", "request",
    )  # fmt: skip

    def __init__(
        self,
        transport: asyncio.Transport,
        request: Request,
        done: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._done = done
        self._chunk = False
        self.request = request
        self.keep_alive = request.keep_alive
        self.begun = False
        self.over = False
        self.gone = False
        self.full = False
        self.on_gone: Callable[[], None] | None = None
        self.on_full: Callable[[bool], None] | None = None

    def respond(
        self, status: int, body: bytes, content_type: str = JSON, *, headers: Extra = ()
    ) -> None:
        """A whole answer at once."""
        if self.gone or self.over:
            return
        lines = [f"content-type: {content_type}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if not self.keep_alive:
            lines.append("connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.begun = True
        self._transport.write(status_line(status) + head + body)
        self._end()

    def start(
        self, status: int, headers: RawHeaders, *, length: int | None, bodiless: bool
    ) -> None:
        """The head of an answer whose body follows in pieces."""
        if self.gone or self.over:
            return
        framing = b""
        if length is not None:
            framing = b"content-length: %d\r\n" % length
        elif bodiless:
            pass
        elif self.request.chunked:
            self._chunk = True
            framing = b"transfer-encoding: chunked\r\n"
        else:
            self.keep_alive = False
        if not self.keep_alive:
            framing += b"connection: close\r\n"
        self.begun = True
        self._transport.write(status_line(status) + written(headers) + framing + b"\r\n")

    def write(self, data: bytes) -> None:
        """A piece of the body, sent at once."""
        if self.gone or self.over or not data:
            return
        if self._chunk:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self._transport.write(data)

    def finish(self) -> None:
        """The body is whole."""
        if self.gone or self.over:
            return
        if self._chunk:
            self._transport.write(b"0\r\n\r\n")
        self._end()

    def cut(self) -> None:
        """Close without the body's end: what was written goes out, and is not taken for whole."""
        if self.gone or self.over:
            return
        self.keep_alive = False
        self._end()

    def fill(self, full: bool) -> None:  # noqa: FBT001 - full or not is all it says
        """The client takes too slowly, or has caught up."""
        self.full = full
        if self.on_full is not None:
            self.on_full(full)

    def lost(self) -> None:
        """The client is gone; whoever was answering is told, once."""
        if self.over or self.gone:
            return
        self.gone = True
        if self.on_gone is not None:
            self.on_gone()

    def _end(self) -> None:
        self.over = True
        if not self.keep_alive:
            self._transport.close()
        self._done()

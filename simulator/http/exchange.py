"""One request and its answer on a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from simulator.http.message import EVENTS, JSON, head


class Exchange:
    """What answers a request: either ``respond`` once, or ``start``, ``write``… and ``finish``.

    After the client went away every method does nothing; ``on_gone`` is called when it goes.
    """

    __slots__ = ("_chunked", "_done", "_keep_alive", "_transport", "gone", "on_gone", "over")

    def __init__(
        self,
        transport: asyncio.Transport,
        *,
        keep_alive: bool,
        chunked: bool,
        done: Callable[[], None],
    ) -> None:
        self.gone = False
        self.over = False
        self.on_gone: Callable[[], None] | None = None
        self._transport = transport
        self._chunked = chunked
        self._keep_alive = keep_alive
        self._done = done

    def respond(
        self,
        status: int,
        body: bytes,
        content_type: str = JSON,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """A whole answer at once."""
        if self.gone:
            return
        fields = [("content-type", content_type), ("content-length", str(len(body))), *headers]
        self._transport.write(head(status, fields + self._closing()) + body)
        self._end()

    def start(self, content_type: str = EVENTS) -> None:
        """The head of a stream."""
        if self.gone:
            return
        fields = [("content-type", content_type), ("cache-control", "no-cache")]
        if self._chunked:
            fields.append(("transfer-encoding", "chunked"))
        else:
            self._keep_alive = False
        self._transport.write(head(200, fields + self._closing()))

    def write(self, data: bytes) -> None:
        """A piece of the stream, sent at once."""
        if self.gone:
            return
        if self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self._transport.write(data)

    def finish(self) -> None:
        """The end of the stream."""
        if self.gone:
            return
        if self._chunked:
            self._transport.write(b"0\r\n\r\n")
        self._end()

    def cut(self) -> None:
        """Break the connection in the middle of whatever is being said."""
        self._keep_alive = False
        self._transport.abort()

    def lost(self) -> None:
        """The connection is gone; whoever was answering is told, once."""
        if self.over or self.gone:
            return
        self.gone = True
        if self.on_gone is not None:
            self.on_gone()

    def _closing(self) -> list[tuple[str, str]]:
        return [] if self._keep_alive else [("connection", "close")]

    def _end(self) -> None:
        self.over = True
        if not self._keep_alive:
            self._transport.close()
        self._done()

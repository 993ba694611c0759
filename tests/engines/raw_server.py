"""A server that answers with the very bytes a test asks for, so that each bad habit can be had."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    index: int
    connection: int
    head: str
    body: bytes

    @property
    def line(self) -> str:
        return self.head.partition("\r\n")[0]


@dataclass
class Wire:
    """How a script writes. ``keep`` says whether the connection stays open after it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    left: asyncio.Event
    keep: bool = False

    async def send(self, *pieces: bytes) -> None:
        """Each piece in a segment of its own, read by the client before the next."""
        for piece in pieces:
            self.writer.write(piece)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def stall(self) -> None:
        """Say nothing more until the client leaves."""
        with contextlib.suppress(OSError):
            await self.reader.read()
        self.left.set()

    @property
    def gone(self) -> bool:
        """Whether the client has closed its side."""
        return self.reader.at_eof() or self.reader.exception() is not None

    def reset(self) -> None:
        """Drop the connection at once."""
        self.writer.transport.abort()


Script = Callable[[Asked, Wire], Awaitable[None]]


class RawServer:
    """Listens on loopback and runs the script for each request."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.connections = 0
        self.asked: list[Asked] = []
        self.left = asyncio.Event()
        """A client has closed its side while the script stalled."""

    async def __aenter__(self) -> RawServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._open.values()):
            writer.transport.abort()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await asyncio.sleep(0)

    @property
    def url(self) -> str:
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        self.connections += 1
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._talk(reader, writer, self.connections)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._open.pop(task, None)

    async def _talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        wire = Wire(reader, writer, self.left, keep=True)
        while wire.keep:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(
                int(line.split(":")[1])
                for line in head.split("\r\n")
                if line.lower().startswith("content-length")
            )
            body = await reader.readexactly(length)
            asked = Asked(len(self.asked), connection, head, body)
            self.asked.append(asked)
            wire = Wire(reader, writer, self.left)
            await self._script(asked, wire)


def head(status: str = "200 OK", **headers: str) -> bytes:
    """A response head; underscores in names become dashes."""
    lines = [f"HTTP/1.1 {status}", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk(data: bytes) -> bytes:
    """One HTTP chunk; an empty one ends the body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def page(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole response with a length."""
    return head(status, Content_Length=str(len(body)), **headers) + body


def stream(*pieces: bytes, **headers: str) -> bytes:
    """A whole chunked event stream."""
    fields = {"Content_Type": "text/event-stream", "Transfer_Encoding": "chunked", **headers}
    return head(**fields) + b"".join(map(chunk, pieces)) + chunk(b"")


def replying(*pieces: bytes, keep: bool = False) -> Script:
    """The same bytes to every request."""

    async def script(asked: Asked, wire: Wire) -> None:
        wire.keep = keep
        await wire.send(*pieces)

    return script


def in_turn(scripts: Iterable[Script]) -> Script:
    """A script of its own for each request."""
    left = iter(scripts)

    async def script(asked: Asked, wire: Wire) -> None:
        await next(left)(asked, wire)

    return script

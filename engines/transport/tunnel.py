"""A tunnel through an HTTP proxy: ``CONNECT``, and after it the socket is the target's."""

from __future__ import annotations

import asyncio
import socket

from engines.proxy import authority
from engines.transport.connection import HEAD_LIMIT
from engines.transport.dial import DialError
from measurement.outcome import Outcome


async def tunnel(sock: socket.socket, host: str, port: int) -> None:
    """Ask the proxy behind a connected socket for the target; DialError when it gives none.

    Reads no byte past the proxy's answer. Waits for as long as the caller lets it.
    """
    where = authority(host, port)
    if not where.isascii() or not where.isprintable():
        raise DialError(Outcome.CONNECT, f"{where!r} can't be asked of a proxy")
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(sock, f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode())
        head = await _head(loop, sock)
    except OSError as error:
        raise DialError(Outcome.CONNECT, f"the proxy closed: {error.strerror or error}") from error
    status = head.partition(b"\r\n")[0].decode("latin-1")
    words = status.split(" ", 2)
    if not status.startswith("HTTP/1.") or len(words) < 2 or not words[1].isdigit():
        raise DialError(Outcome.CONNECT, f"the proxy gave no HTTP/1.1 answer: {status[:100]!r}")
    if not words[1].startswith("2"):
        raise DialError(Outcome.CONNECT, f"the proxy refuses {where}: {' '.join(words[1:])[:200]}")


async def _head(loop: asyncio.AbstractEventLoop, sock: socket.socket) -> bytes:
    """The proxy's answer up to its empty line; the target says nothing before we do."""
    head = b""
    while b"\r\n\r\n" not in head:
        if len(head) > HEAD_LIMIT:
            raise DialError(Outcome.CONNECT, f"the proxy's headers are over {HEAD_LIMIT:,} bytes")
        block = await loop.sock_recv(sock, 4096)
        if not block:
            raise DialError(Outcome.CONNECT, "the proxy closed before it answered CONNECT")
        head += block
    return head

"""Dialling: from a checked address to a connection, each failure with its outcome."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

from engines.egress import Pinned
from measurement.outcome import Outcome

P = TypeVar("P", bound=asyncio.BaseProtocol)


class DialError(Exception):
    """No connection; ``outcome`` says at which step."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        self.outcome = outcome
        super().__init__(reason)


async def dial(pinned: Pinned, factory: Callable[[], P], context: ssl.SSLContext | None) -> P:
    """Connect to the first address that answers; a context makes it TLS."""
    return await speak(await connect(pinned), pinned, factory, context)


async def connect(pinned: Pinned) -> socket.socket:
    """A connected socket to the first address that answers."""
    reasons = []
    for address in pinned.addresses:
        try:
            return await _connect_to(address, pinned.port)
        except OSError as error:
            reasons.append(f"{address}: {error.strerror or error}")
    raise DialError(Outcome.CONNECT, f"port {pinned.port} at {', '.join(reasons)}")


async def _connect_to(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
    except BaseException:
        sock.close()
        raise
    return sock


async def speak(
    sock: socket.socket,
    pinned: Pinned,
    factory: Callable[[], P],
    context: ssl.SSLContext | None,
) -> P:
    """A protocol on a connected socket, which is closed where that fails; a context makes it TLS.

    ``pinned`` is who should be at the other end, whatever stands between.
    """
    loop = asyncio.get_running_loop()
    name = None if context is None else pinned.host
    try:
        made = await loop.create_connection(factory, sock=sock, ssl=context, server_hostname=name)
    except BaseException as error:
        sock.close()
        if isinstance(error, TimeoutError) or not isinstance(error, OSError | EOFError):
            raise
        outcome = Outcome.CONNECT if context is None else Outcome.TLS
        reason = f"{pinned.host}:{pinned.port}: {str(error) or type(error).__name__}"
        raise DialError(outcome, reason) from error
    return made[1]

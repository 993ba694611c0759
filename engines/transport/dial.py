"""Dialling: from a checked address to a connection, each failure with its outcome."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import struct
from collections.abc import Callable
from typing import TypeVar

from engines.egress import Pinned
from measurement.outcome import Outcome

P = TypeVar("P", bound=asyncio.BaseProtocol)


_REMEDIES = {
    errno.EMFILE: "raise this process's limit on open files (ulimit -n)",
    errno.ENFILE: "raise this machine's limit on open files (fs.file-max)",
    errno.EADDRNOTAVAIL: "no local port is free: use fewer connections at a time, or widen "
    "net.ipv4.ip_local_port_range",
    errno.ENOBUFS: "this machine has no room for another socket",
    errno.ENOMEM: "this machine has no memory for another socket",
}


LEAST_ROOM = 64 * 1024
"""Bytes that a socket has room for at least: what a stream brings between two readings must fit, or
its sender waits for us and looks slow."""


class DialError(Exception):
    """No connection; ``outcome`` says at which step.

    ``ours`` when it was never tried: this process or machine lacks what a connection takes.
    """

    def __init__(self, outcome: Outcome, reason: str, *, ours: bool = False) -> None:
        self.outcome = outcome
        self.ours = ours
        super().__init__(reason)


def lacking(error: OSError) -> str | None:
    """What this machine lacks for a connection, with the remedy; None for a fault elsewhere."""
    remedy = _REMEDIES.get(error.errno or 0)
    return None if remedy is None else f"{error.strerror or error}; {remedy}"


async def dial(pinned: Pinned, factory: Callable[[], P], context: ssl.SSLContext | None) -> P:
    """Connect to the first address that answers; a context makes it TLS."""
    return await speak(await connect(pinned), pinned, factory, context)


async def connect(pinned: Pinned) -> socket.socket:
    """A connected socket to the first address that answers."""
    reasons, lacks = [], []
    for address in pinned.addresses:
        try:
            return await _connect_to(address, pinned.port)
        except OSError as error:
            reasons.append(f"{address}: {error.strerror or error}")
            lacks.append(lacking(error))
    if lacks and lacks[0] is not None and None not in lacks:
        raise DialError(Outcome.CONNECT, lacks[0], ours=True)
    raise DialError(Outcome.CONNECT, f"port {pinned.port} at {', '.join(reasons)}")


async def _connect_to(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        make_room(sock)
        sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
        _check_other_end(sock)
    except BaseException:
        sock.close()
        raise
    return sock


def _check_other_end(sock: socket.socket) -> None:
    """ConnectionRefusedError where both ends are one: nobody listens on a port that is also one of
    those given to whoever connects, and TCP lets a socket open to itself."""
    try:
        alone = sock.getsockname() == sock.getpeername()
    except OSError:  # closed by the other end again, so there is one
        return
    if alone:
        raise refused(sock)


def refused(sock: socket.socket) -> ConnectionRefusedError:
    """What a port should have answered whose socket met itself. That one is reset as it is closed:
    it must not keep the port from a server that starts there."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))


def make_room(sock: socket.socket) -> None:
    """Where the system gives a socket less than ``LEAST_ROOM``, ask for that; else leave it."""
    if sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) < LEAST_ROOM:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LEAST_ROOM)


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

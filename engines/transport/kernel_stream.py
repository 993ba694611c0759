"""A socket read by hand, so that each event of a stream has the kernel's stamp of its arrival.

asyncio's own transports read without control messages. One read over several packets carries the
last one's stamp; so what is there is looked at first, and each event is then read by itself: its
stamp is that of the packet that completed it. Linux joins packets that wait to be read (up to 17),
and they all carry the last one's stamp: an event that waited alone has its true time however late
it is read, and one that waited with others is late by at most as much as the reading was.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from typing import Protocol

from engines.transport.kernel_clock import SO_TIMESTAMPNS, KernelClock

LOOK = 64 * 1024
"""Bytes taken in one turn of the event loop."""
_ANCILLARY = socket.CMSG_SPACE(16) if hasattr(socket, "CMSG_SPACE") else 0
_EVENT = re.compile(rb"\n\r?\n")


class Receiver(Protocol):
    """What takes the bytes, with the time at which they arrived."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...

    def take(self, data: bytes, at: float) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None: ...


class KernelStream(asyncio.Transport):
    """One connected socket, in place of the event loop's transport."""

    def __init__(self, sock: socket.socket, receiver: Receiver, clock: KernelClock) -> None:
        super().__init__()
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._receiver = receiver
        self._clock = clock
        self._floor = 0.0
        self._unsent = bytearray()
        self._closed = False
        receiver.connection_made(self)
        self._loop.add_reader(sock.fileno(), self._readable)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Hand over as much as the socket takes now; the rest when it takes more."""
        if self._closed:
            return
        self._unsent += data
        if len(self._unsent) == len(data):
            self._writable()

    def is_closing(self) -> bool:
        return self._closed

    def abort(self) -> None:
        self._lose(None)

    def close(self) -> None:
        self._lose(None)

    def _readable(self) -> None:
        try:
            seen = self._sock.recv(LOOK, socket.MSG_PEEK)
            if not seen:
                self._lose(None)
                return
            before = -1.0
            for size in sizes(seen):
                data, ancillary, _flags, _address = self._sock.recvmsg(size, _ANCILLARY)
                self._floor = self._clock.arrived(ancillary, self._floor)
                self._clock.together += self._floor == before
                before = self._floor
                self._receiver.take(data, self._floor)
                if self._closed:
                    return
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(error)

    def _writable(self) -> None:
        try:
            sent = self._sock.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._lose(error)
            return
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._sock.fileno(), self._writable)
        else:
            self._loop.remove_writer(self._sock.fileno())

    def _lose(self, error: OSError | None) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._sock.fileno())
        self._loop.remove_writer(self._sock.fileno())
        self._sock.close()
        self._loop.call_soon(self._receiver.connection_lost, error)


def sizes(seen: bytes) -> Iterator[int]:
    """How many bytes each read takes: to the end of an event, and what follows the last."""
    start = 0
    for found in _EVENT.finditer(seen):
        yield found.end() - start
        start = found.end()
    if start < len(seen):
        yield len(seen) - start

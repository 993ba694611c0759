"""A socket read by hand, so that each event of a stream has the kernel's stamp of its arrival.

asyncio's own transports read without control messages. One read over several packets carries the
last one's stamp; so what is there is looked at first, and each event is then read by itself: its
stamp is that of the packet that completed it. Linux joins packets that wait to be read (up to 17),
and they all carry the last one's stamp: an event that waited alone has its true time however late
it is read, and one that waited with others is late by at most as much as the reading was.

When it is read, and when a stream under load is read without that look, ``harvest`` says.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from engines.transport.harvest import Harvest
from engines.transport.held import BACK, FRONT, LONGEST_HELD, MOST_HELD, Held, may_wait
from engines.transport.kernel_clock import (
    SO_TIMESTAMPNS,
    STAMP_SPACE,
    Ancillary,
    KernelClock,
    stamp_of,
)

LOOK = 64 * 1024
"""Bytes taken in one turn of the event loop."""
FEW = 448
"""Bytes asked for while a stream's reads bring less: what Python makes of no more than half a
kilobyte comes from its own store, and not from the C library's."""
_DROPPED = bytearray(LONGEST_HELD)
"""Where bytes go that have been seen already."""
_EVENT = re.compile(rb"\n\r?\n(?:\r\n)?")
"""The end of an event, with that of the HTTP chunk around it."""


class Receiver(Protocol):
    """What takes the bytes, with the time at which they arrived."""

    held: Held | None
    times_of: Callable[[Held], Sequence[float]]

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...

    def settle(self) -> None: ...

    def take(self, data: bytes, at: float) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None: ...


class KernelStream(asyncio.Transport):
    """One connected socket, in place of the event loop's transport."""

    def __init__(
        self, sock: socket.socket, receiver: Receiver, clock: KernelClock, harvest: Harvest
    ) -> None:
        super().__init__()
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._receiver = receiver
        self._clock = clock
        self._harvest = harvest
        self._floor = 0.0
        self._unsent = bytearray()
        self._closed = False
        self._size = FEW
        self._front = self._back = b""
        """Of the last read that was looked through, and found to be one that may wait."""
        self._recvmsg = sock.recvmsg
        receiver.times_of = self._times_of
        receiver.connection_made(self)
        harvest.add(sock.fileno(), self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Hand over as much as the socket takes now; the rest when it takes more."""
        if self._closed:
            return
        if not self._unsent:
            try:
                data = data[self._sock.send(data) :]
            except BlockingIOError:
                pass
            except OSError as error:
                self._lose(error)
                return
            self._harvest.beside()
            if data:
                self._loop.add_writer(self._sock.fileno(), self._writable)
        self._unsent += data

    def is_closing(self) -> bool:
        return self._closed

    def abort(self) -> None:
        self._lose(None)

    def close(self) -> None:
        self._lose(None)

    def apart(self, now: int) -> None:
        """Read each event that is there by itself, but those that have one stamp at once."""
        try:
            if self._receiver.held is not None and self._alone(now):
                return
            seen, last, _, _ = self._recvmsg(LOOK, STAMP_SPACE, socket.MSG_PEEK)
            if not seen:
                self._lose(None)
                return
            left = len(seen)
            for size in sizes(seen):
                # Stamps only grow: where the first event of what is left has the last one's, so
                # have all between them.
                if size < left and self._recvmsg(size, STAMP_SPACE, socket.MSG_PEEK)[1] == last:
                    size = left  # noqa: PLW2901 - the rest in one go
                data, ancillary, _, _ = self._recvmsg(size, STAMP_SPACE)
                left -= len(data)
                self._take(data, ancillary, now)
                if self._closed or not left:
                    return
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(error)

    def _alone(self, now: int) -> bool:
        """Take what is there of a stream that runs, where it is a single event."""
        size = self._size
        seen, ancillary, _, _ = self._recvmsg(size, STAMP_SPACE, socket.MSG_PEEK)
        if not 0 <= seen.find(b"\n\n") == len(seen) - 4 < size - 4:
            return False
        self._sock.recv_into(_DROPPED, len(seen))
        self._take(seen, ancillary, now)
        return True

    def together(self, now: int, since: int) -> None:
        """One read for what has come ``since``, where a stream runs: all but the last event of it
        may then be stamped late, by no more than that."""
        held = self._receiver.held
        if held is None:
            self.apart(now)
            return
        try:
            data, ancillary, _, _ = self._recvmsg(self._size, STAMP_SPACE)
            if len(data) == self._size:
                data, ancillary = self._whole(data, ancillary)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(error)
            return
        # As ``is_like`` says it and ``_take`` does, in short for what nearly every read is; only
        # stamps are asked for.
        if (
            data[-32:] == self._back
            and data.startswith(self._front, 8)
            and data.find(b"\n", 8) == len(data) - 4
            and len(held.data) < MOST_HELD - 1
        ):
            held.data.append(data)
            held.stamps.append(ancillary[0][2] if ancillary else b"")
            held.read_at.append(now)
            return
        if data.find(b"\n\n") + 4 < len(data):
            self._clock.joined(data.count(b"\n\n"), now - since)
        if data:
            self._take(data, ancillary, now)
        else:
            self._lose(None)

    def _whole(self, data: bytes, ancillary: Ancillary) -> tuple[bytes, Ancillary]:
        """What a larger buffer would have read, which is asked for from now on."""
        self._size = min(2 * self._size, LONGEST_HELD)
        if len(data) == LONGEST_HELD:
            return data, ancillary
        try:
            rest, later, _, _ = self._recvmsg(LONGEST_HELD - len(data), STAMP_SPACE)
        except BlockingIOError:
            return data, ancillary
        return data + rest, later if rest else ancillary

    def _take(self, data: bytes, ancillary: Ancillary, now: int) -> None:
        """Hold what may wait; hand the rest on, behind what waits already."""
        receiver = self._receiver
        held = receiver.held
        if held is not None and may_wait(data):
            self._front, self._back = data[FRONT], data[BACK]
            held.data.append(data)
            held.stamps.append(stamp_of(ancillary))
            held.read_at.append(now)
            if len(held.data) >= MOST_HELD:
                receiver.settle()
            return
        if held is not None and held.data:
            receiver.settle()
        at = self._clock.arrived(ancillary, self._floor)
        self._clock.together += at == self._floor
        self._floor = at
        receiver.take(data, at)

    def _times_of(self, held: Held) -> Sequence[float]:
        times = self._clock.all_arrived(held.stamps, held.read_at, self._floor)
        self._floor = times[-1]
        return times

    def _writable(self) -> None:
        try:
            sent = self._sock.send(self._unsent)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(error)
            return
        del self._unsent[:sent]
        if not self._unsent:
            self._loop.remove_writer(self._sock.fileno())

    def _lose(self, error: OSError | None) -> None:
        if self._closed:
            return
        self._closed = True
        fileno = self._sock.fileno()
        self._harvest.remove(fileno)
        if self._unsent:
            self._loop.remove_writer(fileno)
        self._sock.close()
        self._loop.call_soon(self._receiver.connection_lost, error)


def sizes(seen: bytes) -> Iterator[int]:
    """How many bytes each read takes: to the end of an event, and what follows the last.

    The head of an answer goes with the event behind it.
    """
    start = 0
    head = seen.startswith(b"HTTP/")
    for found in _EVENT.finditer(seen):
        if head:
            head = False
            continue
        yield found.end() - start
        start = found.end()
    if start < len(seen):
        yield len(seen) - start

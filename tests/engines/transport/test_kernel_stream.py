"""Kernel stamps: right however late the reading is, on the monotonic clock, the lag measured."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.egress import EgressRules
from engines.transport.httptools_stream import HttptoolsTransport
from engines.transport.kernel_clock import RENEW_AFTER, SO_TIMESTAMPNS, KernelClock, Offset
from engines.transport.kernel_stream import sizes
from tests.engines.conftest import QUICK, Ask

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux stamps what it receives")

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TOKEN = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
SECOND = 1_000_000_000


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Sender:
    """A server in a thread of its own that notes when each token left."""

    def __init__(self, tokens: int, apart: float) -> None:
        self._tokens, self._apart = tokens, apart
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(30)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.times: list[tuple[float, float]] = []
        self.first, self.done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._listening, self._listening.accept()[0] as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.recv(65536)
            sock.sendall(HEAD)
            self.first.set()
            for _ in range(self._tokens):
                time.sleep(self._apart)
                before = time.monotonic()
                sock.sendall(chunk(TOKEN))
                self.times.append((before, time.monotonic()))
            sock.sendall(chunk(END) + b"0\r\n\r\n")
            self.done.set()

    def join(self) -> None:
        self._thread.join(30)


async def test_chunks_read_long_after_they_came_have_the_times_at_which_they_came() -> None:
    clock = KernelClock()
    transport = HttptoolsTransport(EgressRules.loopback(), kernel_clock=clock)
    server = Sender(tokens=10, apart=0.005)
    stamps: list[float] = []
    began = asyncio.ensure_future(
        Ask(transport)
        .client(server.url)
        .complete(_request(), QUICK, on_tokens=lambda at, _: stamps.append(at))
    )
    await asyncio.to_thread(server.first.wait, 30)
    server.done.wait(30)  # nothing is read meanwhile: this blocks the event loop
    threading.Event().wait(0.2)
    read_at = time.monotonic()
    answer = await began
    await transport.close()
    server.join()
    assert answer.outcome.success
    assert len(stamps) == len(server.times) == 10
    error = clock.lag().offset_error + 1e-4
    for at, (before, after) in zip(stamps, server.times, strict=True):
        assert before - error <= at
        assert at <= after + 0.05  # far less than the reading was late
    assert stamps[-1] < read_at - 0.1
    lag = transport.receive_lag()
    assert lag is not None
    assert (lag.lag.percentile(99) or 0.0) > 0.1
    assert (lag.steps, lag.unstamped) == (0, 0)


def _request() -> object:
    from engines.request import CompletionRequest

    return CompletionRequest("Hi", 8)


class Clocks:
    """A monotonic and a wall clock that a test moves; each reading takes ``cost`` ns."""

    def __init__(self, *, cost: int = 0) -> None:
        self.monotonic, self.ahead, self._cost = 5 * SECOND, 1_700_000_000 * SECOND, cost

    def read_monotonic(self) -> int:
        self.monotonic += self._cost
        return self.monotonic

    def read_wall(self) -> int:
        self.monotonic += self._cost
        return self.monotonic + self.ahead

    def stamp(self) -> list[tuple[int, int, bytes]]:
        seconds, nanoseconds = divmod(self.monotonic + self.ahead, SECOND)
        return [(socket.SOL_SOCKET, SO_TIMESTAMPNS, struct.pack("@ll", seconds, nanoseconds))]


@given(cost=st.integers(0, 10_000))
def test_the_offset_is_wrong_by_no_more_than_it_says(cost: int) -> None:
    clocks = Clocks(cost=cost)
    offset = Offset.sampled(clocks.read_monotonic, clocks.read_wall)
    assert abs(offset.value + clocks.ahead) <= offset.error
    assert offset.error <= cost + 1


def test_a_stamp_becomes_monotonic_and_its_age_is_the_lag() -> None:
    clocks = Clocks()
    clock = KernelClock(clocks.read_monotonic, clocks.read_wall)
    stamp, at = clocks.stamp(), clocks.monotonic / SECOND
    clocks.monotonic += SECOND // 10
    assert clock.arrived(stamp, 0.0) == pytest.approx(at, abs=1e-6)
    assert clock.lag().lag.percentile(50) == pytest.approx(0.1, rel=1e-3)


def test_a_stamp_is_never_before_what_came_before_it_nor_after_now() -> None:
    clocks = Clocks()
    clock = KernelClock(clocks.read_monotonic, clocks.read_wall)
    early = clocks.stamp()
    clocks.monotonic += SECOND // 10
    assert clock.arrived(early, 5.09) == 5.09
    late = clocks.stamp()
    clocks.monotonic -= SECOND // 20
    assert clock.arrived(late, 0.0) == pytest.approx(clocks.monotonic / SECOND)


def test_a_read_over_a_step_of_the_wall_clock_keeps_its_own_time_and_the_step_is_told() -> None:
    clocks = Clocks()
    clock = KernelClock(clocks.read_monotonic, clocks.read_wall)
    before = clocks.stamp()
    clocks.monotonic += int((RENEW_AFTER + 0.1) * SECOND)
    clocks.ahead -= 3_600 * SECOND
    assert clock.arrived(before, 0.0) == pytest.approx(clocks.monotonic / SECOND)
    assert (clock.lag().steps, clock.lag().unstamped) == (1, 1)
    after, at = clocks.stamp(), clocks.monotonic / SECOND
    clocks.monotonic += SECOND // 100
    assert clock.arrived(after, 0.0) == pytest.approx(at, abs=1e-6)


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"data: x", b"\n\n", b"\r\n\r\n"])))
def test_reads_end_where_events_end_and_leave_nothing(pieces: list[bytes]) -> None:
    seen = b"".join(pieces)
    found = list(sizes(seen))
    assert sum(found) == len(seen)
    assert all(found)
    places = [sum(found[: i + 1]) for i in range(len(found) - 1)]
    assert all(seen[:place].endswith((b"\n\n", b"\n\r\n")) for place in places)

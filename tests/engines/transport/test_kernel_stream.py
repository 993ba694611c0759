"""Kernel stamps: right however late the reading is, on the monotonic clock, the lag measured."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.egress import EgressRules
from engines.transport.harvest import Harvest
from engines.transport.held import Held
from engines.transport.httptools_stream import HttptoolsTransport
from engines.transport.kernel_clock import (
    RENEW_AFTER,
    SO_TIMESTAMPNS,
    STAMP_SPACE,
    KernelClock,
    Offset,
    stamp_of,
)
from engines.transport.kernel_stream import FEW, KernelStream, sizes
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

    def __init__(self, groups: int, tokens: int) -> None:
        self._groups, self._tokens = groups, tokens
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(30)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.times: list[tuple[float, float]] = []
        self.go, self.sent = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._listening, self._listening.accept()[0] as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.recv(65536)
            sock.sendall(HEAD)
            for _ in range(self._groups):
                self.go.acquire(timeout=30)
                for _ in range(self._tokens):
                    time.sleep(0.005)
                    before = time.monotonic()
                    sock.sendall(chunk(TOKEN))
                    self.times.append((before, time.monotonic()))
                self.sent.release()
            sock.sendall(chunk(END) + b"0\r\n\r\n")

    def join(self) -> None:
        self._thread.join(30)


class Late:
    """What a client that reads each group of tokens a tenth of a second late made of them."""

    def __init__(self, groups: int, tokens: int) -> None:
        self.groups, self.tokens = groups, tokens
        self.stamps: list[float] = []
        self.read_at: list[float] = []

    async def _until(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.stamps) < count:  # noqa: ASYNC110 - as few turns of the loop as can be
                await asyncio.sleep(0)

    async def run(self) -> Late:
        clock = KernelClock()
        transport = HttptoolsTransport(EgressRules.loopback(), kernel_clock=clock)
        server = Sender(self.groups, self.tokens)
        client = Ask(transport).client(server.url)
        asking = asyncio.ensure_future(
            client.complete(_request(), QUICK, on_tokens=lambda ats, _: self.stamps.extend(ats))
        )
        await asyncio.sleep(0.05)
        for group in range(self.groups):
            server.go.release()
            server.sent.acquire(timeout=30)  # this blocks the event loop: nothing is read
            threading.Event().wait(0.1)
            self.read_at.append(time.monotonic())
            await self._until((group + 1) * self.tokens)
        self.answer = await asking
        await transport.close()
        server.join()
        self.times = server.times
        found = transport.receive_lag()
        assert found is not None
        self.lag = found
        return self


@pytest.fixture(autouse=True)
def _stamping() -> Iterator[None]:
    """The kernel begins to stamp a little after the first socket on the machine asks for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        own.bind(("127.0.0.1", 0))
        own.settimeout(30)
        until = time.monotonic() + 30
        stamped: list[object] = []
        while not stamped and time.monotonic() < until:
            own.sendto(b".", own.getsockname())
            stamped = own.recvmsg(1, STAMP_SPACE)[1]
        assert stamped
        yield


async def test_tokens_that_are_read_long_after_they_came_have_the_times_at_which_they_came() -> (
    None
):
    late = await Late(groups=5, tokens=1).run()
    assert late.answer.outcome.success
    assert len(late.stamps) == len(late.times) == 5
    error = late.lag.offset_error + 1e-4
    for at, (before, after), read_at in zip(late.stamps, late.times, late.read_at, strict=True):
        assert before - error <= at <= after + 0.02
        assert at < read_at - 0.07  # so it is not the time of the reading
    assert (late.lag.lag.percentile(99) or 0.0) > 0.09
    assert (late.lag.steps, late.lag.unstamped) == (0, 0)


async def test_tokens_that_waited_together_are_timed_between_their_coming_and_the_lasts() -> None:
    """The kernel joins what waits, so it may know only the last one's time; it is never early."""
    late = await Late(groups=1, tokens=10).run()
    assert late.answer.outcome.success
    error = late.lag.offset_error + 1e-4
    last = late.times[-1][1]
    for at, (before, _) in zip(late.stamps, late.times, strict=True):
        assert before - error <= at <= last + 0.02
    assert late.stamps == sorted(late.stamps)
    assert late.stamps[-1] < late.read_at[0] - 0.07


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


@pytest.mark.parametrize("step", [-3_600.0, -0.5, 0.5, 3_600.0])
def test_what_comes_just_after_a_step_of_the_wall_clock_has_its_true_time(step: float) -> None:
    clocks = Clocks()
    clock = KernelClock(clocks.read_monotonic, clocks.read_wall)
    clocks.monotonic += SECOND // 2
    before = clocks.stamp()
    clocks.monotonic += SECOND // 1000
    clocks.ahead += int(step * SECOND)
    clocks.monotonic += SECOND // 1000
    after, at = clocks.stamp(), clocks.monotonic / SECOND
    clocks.monotonic += SECOND // 1000

    clock.now()
    read = clocks.monotonic / SECOND
    assert clock.arrived(before, 0.0) == pytest.approx(read, abs=1e-6), "of the time before"
    assert clock.arrived(after, 0.0) == pytest.approx(at, abs=0.0011), "no later than it was read"
    assert (clock.lag().steps, clock.lag().unstamped) == (1, 2)

    clocks.monotonic += SECOND // 1000
    later, at = clocks.stamp(), clocks.monotonic / SECOND
    clocks.monotonic += SECOND // 1000
    held = [stamp_of(later)] * 12
    assert clock.arrived(later, 0.0) == pytest.approx(at, abs=1e-6)
    assert clock.all_arrived(held, [clock.now()] * 12, 0.0) == pytest.approx([at] * 12, abs=1e-6)
    assert clock.lag().lag.percentile(100) < 0.01


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"data: x", b"\n\n", b"\r\n\r\n"])))
def test_reads_end_where_events_end_and_leave_nothing(pieces: list[bytes]) -> None:
    seen = b"".join(pieces)
    found = list(sizes(seen))
    assert sum(found) == len(seen)
    assert all(found)
    places = [sum(found[: i + 1]) for i in range(len(found) - 1)]
    assert all(seen[:place].endswith((b"\n\n", b"\n\r\n")) for place in places)


class Waiting:
    """Takes a stream's bytes, and lets its reads wait."""

    def __init__(self) -> None:
        self.held: Held | None = Held()
        self.times_of: Callable[[Held], Sequence[float]] = lambda held: [0.0] * len(held.data)
        self.taken: list[bytes] = []

    def settle(self) -> None:
        if self.held is not None:
            self.taken += self.held.data
            self.held = Held()

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None: ...

    def take(self, data: bytes, at: float) -> None:
        self.taken.append(data)


async def streaming() -> tuple[socket.socket, KernelStream, Waiting, KernelClock]:
    """A server's socket, and a stream at its other end that nobody reads by himself."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ours = socket.create_connection(listening.getsockname())
        theirs, _ = listening.accept()
    ours.setblocking(False)
    clock, waiting = KernelClock(), Waiting()
    return theirs, KernelStream(ours, waiting, clock, Harvest(clock)), waiting, clock


async def test_what_came_in_one_pause_is_read_at_once_and_the_pause_is_its_lag() -> None:
    theirs, stream, waiting, clock = await streaming()
    with theirs:
        theirs.sendall(chunk(TOKEN))
        theirs.sendall(chunk(TOKEN))
        now = clock.now()
        stream.together(now, now - SECOND // 100)
        assert waiting.held is not None
        assert waiting.held.data == [chunk(TOKEN) * 2]
        lag = clock.lag()
        assert (lag.together, lag.lag.count) == (1, 1)
        assert lag.lag.percentile(50) == pytest.approx(0.01, rel=1e-3)
        stream.abort()
        await asyncio.sleep(0)


async def test_a_read_that_is_larger_than_any_before_is_whole_all_the_same() -> None:
    theirs, stream, waiting, clock = await streaming()
    with theirs:
        large = chunk(TOKEN.replace(b'"a"', b'"' + b"a" * 2 * FEW + b'"'))
        theirs.sendall(large)
        now = clock.now()
        stream.together(now, now)
        assert waiting.held is not None
        assert (waiting.held.data, waiting.taken) == ([large], [])
        stream.abort()
        await asyncio.sleep(0)


async def test_apart_a_single_event_waits_with_its_own_stamp() -> None:
    theirs, stream, waiting, clock = await streaming()
    with theirs:
        for text in (b"a", b"b"):
            before = time.time_ns()
            theirs.sendall(chunk(TOKEN.replace(b'"a"', b'"' + text + b'"')))
            stream.apart(clock.now())
            assert waiting.held is not None
            seconds, nanoseconds = struct.unpack("@ll", waiting.held.stamps[-1])
            assert before <= seconds * SECOND + nanoseconds <= time.time_ns()
        assert waiting.held is not None
        assert waiting.held.data == [chunk(TOKEN), chunk(TOKEN.replace(b'"a"', b'"b"'))]
        stream.abort()
        await asyncio.sleep(0)


async def test_apart_what_has_one_stamp_is_read_at_once_and_the_end_waits_for_nothing() -> None:
    theirs, stream, waiting, clock = await streaming()
    with theirs:
        theirs.sendall(chunk(TOKEN) * 3 + chunk(END))
        stream.apart(clock.now())
        assert waiting.held is not None
        assert (waiting.taken, waiting.held.data) == ([chunk(TOKEN) * 3 + chunk(END)], [])
        stream.abort()
        await asyncio.sleep(0)


@given(
    st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 10**8)), min_size=1, max_size=20),
    st.integers(0, 10),
)
def test_many_stamps_at_once_are_each_stamp_by_itself(
    waits: list[tuple[int, int]], missing: int
) -> None:
    clocks = Clocks()
    one, all_ = (KernelClock(clocks.read_monotonic, clocks.read_wall) for _ in range(2))
    held: list[tuple[bytes, int]] = []
    for turn, (before, after) in enumerate(waits):
        clocks.monotonic += before
        stamp = b"" if missing and turn % missing == 0 else stamp_of(clocks.stamp())
        clocks.monotonic += after
        held.append((stamp, clocks.monotonic))
    floor, times = 0.0, []
    for stamp, read_at in held:
        floor = one.all_arrived([stamp], [read_at], floor)[0]
        times.append(floor)
    stamps, reads = zip(*held, strict=True)
    assert all_.all_arrived(stamps, reads, 0.0) == pytest.approx(times, abs=1e-9)
    assert all_.lag().lag.count == one.lag().lag.count
    assert all_.lag().unstamped == one.lag().unstamped


def test_what_was_held_over_a_step_of_the_wall_clock_keeps_the_time_of_its_reading() -> None:
    clocks = Clocks()
    clock = KernelClock(clocks.read_monotonic, clocks.read_wall)
    reads = [clocks.monotonic + turn for turn in range(12)]
    stamps = [stamp_of(clocks.stamp()) for _ in reads]
    clocks.monotonic += int((RENEW_AFTER + 0.1) * SECOND)
    clocks.ahead += 3_600 * SECOND
    times = clock.all_arrived(stamps, reads, 0.0)
    assert times == pytest.approx([read_at / SECOND for read_at in reads])
    assert (clock.lag().steps, clock.lag().unstamped) == (1, 12)

"""The client's side of the wire, fed by hand: any split, any garbage, any order of ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config_parts import ClientLimits
from gateway.http.connection import ClientConnection, Door
from gateway.http.exchange import Exchange
from gateway.http.message import end_to_end

TWO = (
    b"POST /v1/completions?a=b HTTP/1.1\r\nHost: g\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello"
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
)


class FakeTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        assert not self.closed
        self.written += bytes(data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class Here:
    """A connection with an app that keeps what it is asked."""

    def __init__(self, **limits: Any) -> None:
        self.now = 0.0
        self.asked: list[Exchange] = []
        bounds = ClientLimits(**limits)
        self.door = Door(self.asked.append, lambda: self.now, lambda: bounds, set())
        self.connection = ClientConnection(self.door)
        self.transport = FakeTransport()
        self.connection.connection_made(self.transport)


@given(cuts=st.lists(st.integers(0, len(TWO)), max_size=12))
def test_any_split_of_the_bytes_gives_the_same_requests(cuts: list[int]) -> None:
    here = Here()
    edges = [0, *sorted(cuts), len(TWO)]
    for start, end in zip(edges, edges[1:], strict=False):  # noqa: RUF007
        if start < end:
            here.connection.data_received(TWO[start:end])
    here.asked[0].respond(200, b"{}")
    first, second = (exchange.request for exchange in here.asked)
    assert (first.method, first.target, first.body) == (
        b"POST",
        b"/v1/completions?a=b",
        b"hello",
    )
    assert (b"x-one", b"1") in first.headers
    assert (second.target, second.body) == (b"/v1/chat/completions", b"abcde")
    assert len(here.asked) == 2


@given(data=st.binary(max_size=300), start=st.sampled_from([b"", TWO[:70], b"GET / HTTP/1.1\r\n"]))
def test_garbage_is_answered_or_awaited_and_never_raised(data: bytes, start: bytes) -> None:
    here = Here()
    here.connection.data_received(start)
    here.connection.data_received(data)
    for exchange in list(here.asked):
        exchange.respond(200, b"{}")
    here.now = 1e6
    here.door.sweep(here.now)
    here.connection.connection_lost(None)
    assert not here.door.connections


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n",
        b"content-length: 5\r\ncontent-length: 6\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"x: a\rb\r\n",
        b" folded: 1\r\n",
    ],
)
def test_a_head_that_two_readers_could_read_two_ways_is_refused(head: bytes) -> None:
    here = Here()
    here.connection.data_received(b"POST /v1/completions HTTP/1.1\r\nhost: g\r\n" + head + b"\r\n")
    assert here.asked == []
    assert here.transport.written.startswith(b"HTTP/1.1 400 ")
    assert here.transport.closed


def test_more_than_sixteen_pipelined_are_refused_after_those_before() -> None:
    here = Here()
    one = b"POST /v1/completions HTTP/1.1\r\nhost: g\r\ncontent-length: 1\r\n\r\nx"
    here.connection.data_received(one * 20)
    for place in range(17):
        here.asked[place].respond(200, b"{}")
    assert len(here.asked) == 17
    assert here.transport.written.count(b"HTTP/1.1 200") == 17
    assert here.transport.written.count(b"HTTP/1.1 400") == 1
    assert here.transport.closed


def test_a_client_that_leaves_is_told_once_and_nothing_is_written_after() -> None:
    here = Here()
    told: list[int] = []
    here.connection.data_received(TWO)
    exchange = here.asked[0]
    exchange.on_gone = lambda: told.append(1)
    here.connection.connection_lost(None)
    here.transport.closed = True
    exchange.respond(200, b"{}")
    exchange.write(b"x")
    exchange.finish()
    assert told == [1]
    assert len(here.asked) == 1


def test_a_stall_is_counted_from_when_the_client_stopped_taking() -> None:
    here = Here(stall_s=10.0)
    full: list[bool] = []
    here.connection.data_received(TWO)
    here.asked[0].on_full = full.append
    here.connection.pause_writing()
    here.now = 9.0
    here.door.sweep(here.now)
    assert not here.transport.closed
    here.connection.resume_writing()
    here.now = 100.0
    here.door.sweep(here.now)
    assert not here.transport.closed
    here.connection.pause_writing()
    here.now = 111.0
    here.door.sweep(here.now)
    assert here.transport.closed
    assert full == [True, False, True]


def test_what_connection_names_is_dropped_with_it() -> None:
    headers = [
        (b"connection", b"close, X-Mine"),
        (b"x-mine", b"1"),
        (b"upgrade", b"h2c"),
        (b"x-kept", b"2"),
    ]
    assert end_to_end(headers) == [(b"x-kept", b"2")]
    assert end_to_end(headers, but=frozenset((b"x-kept",))) == []

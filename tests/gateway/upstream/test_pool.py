"""Connections to an engine: kept, aged, retired, none lost."""

from __future__ import annotations

import asyncio

from engines.egress import EgressRules
from engines.transport.base import Ending
from gateway.http.message import RawHeaders
from gateway.upstream.connection import UpstreamConnection
from gateway.upstream.pool import IDLE_LIMIT, Pool
from measurement.outcome import Outcome
from tests.engines.raw_server import RawServer, head, page, replying
from tests.gateway.waiting import within

ASK = b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n"


class Taken:
    """Everything that one answer brought."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: RawHeaders = []
        self.body = b""
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def on_head(self, at: float, status: int, headers: RawHeaders) -> None:
        self.status, self.headers = status, headers

    def on_body(self, at: float, data: bytes) -> None:
        self.body += data

    def on_end(self, ending: Ending) -> None:
        self.ended.set_result(ending)


async def ask(connection: UpstreamConnection) -> tuple[Taken, Ending]:
    taken = Taken()
    connection.start(taken, ASK)
    return taken, await taken.ended


def pool_of(url: str, clock: list[float]) -> Pool:
    return Pool(url, EgressRules.open(), lambda: clock[0])


async def test_what_is_given_back_is_taken_again_until_it_is_old() -> None:
    now = [0.0]
    async with RawServer(replying(page(b"hi"), keep=True)) as server:
        pool = pool_of(server.url, now)
        connection = await pool.dial(1.0)
        taken, ending = await ask(connection)
        assert (taken.status, taken.body, ending.outcome) == (200, b"hi", None)
        pool.give_back(connection)
        assert pool.take() is connection
        pool.give_back(connection)
        now[0] = IDLE_LIMIT + 1
        assert pool.take() is None
        await within(1, lambda: pool.open == 0)


async def test_what_can_carry_no_more_is_closed() -> None:
    async with RawServer(replying(page(b"hi", Connection="close"), keep=True)) as server:
        pool = pool_of(server.url, [0.0])
        connection = await pool.dial(1.0)
        await ask(connection)
        pool.give_back(connection)
        assert pool.take() is None
        await within(1, lambda: pool.open == 0)


async def test_a_retired_pool_keeps_nothing_that_comes_back() -> None:
    async with RawServer(replying(page(b"hi"), keep=True)) as server:
        pool = pool_of(server.url, [0.0])
        one, two = await pool.dial(1.0), await pool.dial(1.0)
        await ask(one)
        pool.give_back(one)
        pool.retire()
        await ask(two)
        pool.give_back(two)
        await within(1, lambda: pool.open == 0)


async def test_an_answer_that_ends_with_the_connection_is_whole() -> None:
    async with RawServer(replying(head(X="1"), b"to the ", b"end")) as server:
        pool = pool_of(server.url, [0.0])
        taken, ending = await ask(await pool.dial(1.0))
        assert (taken.body, ending.outcome) == (b"to the end", None)


async def test_a_cut_answer_is_incomplete_and_interim_answers_are_none() -> None:
    said = b"HTTP/1.1 100 Continue\r\n\r\n" + head(Content_Length="9") + b"half"
    async with RawServer(replying(said)) as server:
        pool = pool_of(server.url, [0.0])
        taken, ending = await ask(await pool.dial(1.0))
        assert taken.status == 200
        assert ending.outcome is Outcome.INCOMPLETE
        await within(1, lambda: pool.open == 0)

"""A client that leaves stops the work at once: in the queue, in prefill, in decode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from measurement.outcome import Outcome
from tests.engines.raw_server import Asked, RawServer, Script, Wire, chunk, head
from tests.gateway.serving import AUTH, CHAT, Gateway, config, gateway, policy
from tests.gateway.waiting import within
from tests.simulator.serving import connected

TOKEN = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'
EVENTS = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
AT_ONCE = 10.0
"""Seconds that a busy machine may take. The engines stall: nothing else would free them."""


async def prefill(asked: Asked, wire: Wire) -> None:
    """No byte of an answer."""
    await wire.stall()


async def headed(asked: Asked, wire: Wire) -> None:
    """The head, and no token."""
    await wire.send(EVENTS)
    await wire.stall()


async def decode(asked: Asked, wire: Wire) -> None:
    """Tokens, and then a silence."""
    await wire.send(EVENTS, chunk(TOKEN), chunk(TOKEN))
    await wire.stall()


class Leaver:
    """A client that asks and then leaves."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def ask(cls, server: Gateway, body: Any = CHAT) -> Leaver:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        data = json.dumps(body).encode()
        top = f"POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\n{AUTH}"
        writer.write(f"{top}content-length: {len(data)}\r\n\r\n".encode() + data)
        return cls(reader, writer)

    async def leave(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    async def reset(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def stage(script: Script, limit: int = 1) -> AsyncIterator[tuple[RawServer, Gateway]]:
    async with (
        RawServer(script) as engine,
        gateway(config(engine.url, policies=(policy(limit=limit),))) as server,
    ):
        yield engine, server


@pytest.mark.parametrize("how", ["leave", "reset"])
@pytest.mark.parametrize(
    ("script", "reached"),
    [
        (prefill, lambda s: s.lane.limiter.in_flight),
        (headed, lambda s: s.lane.limiter.in_flight),
        (decode, lambda s: any(a.fold._windows for a in s.books.accounts.values())),
    ],
    ids=["prefill", "headed", "decode"],
)
async def test_upstream_is_closed_and_the_permit_free_at_once(
    script: Script, reached: Callable[[Gateway], object], how: str
) -> None:
    async with stage(script) as (engine, server):
        client = await Leaver.ask(server)
        await within(2, lambda: engine.asked)
        await within(2, lambda: reached(server))
        if script is not prefill:
            await client.reader.readuntil(b"\r\n\r\n")
        if script is decode:
            await client.reader.readuntil(TOKEN)
        await getattr(client, how)()
        async with asyncio.timeout(AT_ONCE):
            await engine.left.wait()
        await within(AT_ONCE, lambda: server.at_rest)
        await within(AT_ONCE, lambda: server.served)
    assert [served.sample.outcome for served in server.served] == [Outcome.CANCELLED]


async def test_who_leaves_the_queue_is_never_sent_and_the_next_one_goes() -> None:
    async with stage(decode) as (engine, server):
        first = await Leaver.ask(server)
        await within(2, lambda: engine.asked)
        second, third = await Leaver.ask(server), None
        await within(2, lambda: server.lane.waiting == 1)
        third = await Leaver.ask(server)
        await within(2, lambda: server.lane.waiting == 2)
        await second.leave()
        await within(AT_ONCE, lambda: server.lane.waiting == 1)
        await first.leave()
        await within(AT_ONCE, lambda: len(engine.asked) == 2)
        await third.reader.readuntil(TOKEN)
        await third.leave()
        await within(AT_ONCE, lambda: server.at_rest)
    sent = [served.sample.sent_at is not None for served in server.served]
    assert sorted(sent) == [False, True, True]


async def test_who_leaves_before_its_task_began_leaves_nothing() -> None:
    async with stage(prefill) as (_, server):
        for _ in range(20):
            client = await Leaver.ask(server)
            await client.reset()
        await within(1, lambda: server.at_rest and not server.door.connections)
    assert {served.sample.outcome for served in server.served} <= {Outcome.CANCELLED}


async def test_an_answer_in_one_piece_is_cancelled_too() -> None:
    async with stage(prefill) as (engine, server):
        client = await Leaver.ask(server, CHAT | {"stream": False})
        await within(2, lambda: engine.asked)
        await client.leave()
        async with asyncio.timeout(AT_ONCE):
            await engine.left.wait()
        await within(AT_ONCE, lambda: server.at_rest)


async def test_a_permit_that_was_granted_as_its_client_left_goes_to_the_next() -> None:
    async with stage(decode) as (_engine, server):
        clients = [await Leaver.ask(server) for _ in range(6)]
        await within(2, lambda: server.lane.waiting == 5)
        await asyncio.gather(*(client.reset() for client in clients[:5]))
        await within(
            AT_ONCE, lambda: server.lane.limiter.in_flight == 1 and not server.lane.waiting
        )
        await clients[5].reader.readuntil(TOKEN)
        await clients[5].leave()
        await within(AT_ONCE, lambda: server.at_rest)


async def test_a_client_that_takes_nothing_is_cut_off_in_time() -> None:
    async def pour(asked: Asked, wire: Wire) -> None:
        wire.writer.write(EVENTS)
        while not wire.gone:
            wire.writer.write(chunk(b"data: " + b"x" * 60_000 + b"\n\n"))
            await wire.writer.drain()

    async with (
        RawServer(pour) as engine,
        gateway(config(engine.url, limits={"stall_s": 0.2})) as server,
    ):
        client = await Leaver.ask(server)
        await within(3, lambda: server.served)
        await client.reset()
        await within(1, lambda: server.at_rest)
    assert server.served[0].sample.outcome is Outcome.CANCELLED


async def test_many_leave_at_random_and_nothing_is_left() -> None:
    async def slow(asked: Asked, wire: Wire) -> None:
        await wire.send(EVENTS)
        for _ in range(20):
            if wire.gone:
                return
            await wire.send(chunk(TOKEN))
            await asyncio.sleep(0.002)
        await wire.send(chunk(b""))

    async with stage(slow, limit=5) as (_, server):

        async def one(place: int) -> None:
            client = await Leaver.ask(server)
            await asyncio.sleep(0.001 * (place * 7 % 90))
            await client.reset()

        await asyncio.gather(*(one(place) for place in range(120)))
        await within(2, lambda: server.at_rest and not server.door.connections)
        assert len(server.served) == sum(server.books.outcomes.values())
        async with connected(server) as client:
            answer = await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
    assert answer.body == TOKEN * 20

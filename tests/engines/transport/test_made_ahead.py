"""Calls made ahead of their time: the same bytes, sent at once where a connection is at rest."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest

from engines.client import Call
from engines.request import CompletionRequest, Timeouts
from engines.transport.aiohttp_stream import AiohttpTransport
from engines.transport.base import Transport
from measurement.outcome import Outcome
from tests.engines.conftest import QUICK, Ask
from tests.engines.raw_server import Asked, RawServer, Wire, in_turn, replying, stream
from tests.engines.sayings import HELLO
from tests.engines.test_connections import closing

GOOD = stream(HELLO)
ASKED = CompletionRequest("Hi", 8)


def made(ask: Ask, server: RawServer, timeouts: Timeouts = QUICK) -> Call:
    return ask.client(server.url).call(ASKED, timeouts)


def sends_at_once(transport: Transport) -> bool:
    """aiohttp has no way to."""
    return not isinstance(transport, AiohttpTransport)


async def stalling(asked: Asked, wire: Wire) -> None:
    await wire.stall()


async def test_it_sends_the_very_bytes_of_one_made_when_it_is_due(
    ask: Ask, transport: Transport
) -> None:
    async with RawServer(replying(GOOD, keep=True)) as server:
        await ask(server.url)
        call = made(ask, server)
        assert call.begin() is sends_at_once(transport)
        answer = await call.answer()
    first, second = server.asked
    assert (first.head, first.body) == (second.head, second.body)
    assert (answer.outcome, server.connections) == (Outcome.OK, 1)


async def test_without_a_connection_at_rest_nothing_is_sent_before_it_is_waited_for(
    ask: Ask,
) -> None:
    async with RawServer(replying(GOOD, keep=True)) as server:
        call = made(ask, server)
        assert not call.begin()
        await asyncio.sleep(0.02)
        assert server.asked == []
        answer = await call.answer()
    assert (answer.outcome, len(server.asked)) == (Outcome.OK, 1)


async def test_one_that_is_never_begun_opens_nothing_and_waits_for_no_collector(
    ask: Ask,
) -> None:
    async with RawServer(replying(GOOD, keep=True)) as server:
        client = ask.client(server.url)
        gc.collect()
        gc.disable()
        try:
            for _ in range(50):
                client.call(ASKED, QUICK)
            assert gc.collect() < 50
        finally:
            gc.enable()
        await asyncio.sleep(0.02)
        assert server.connections == 0


async def test_its_answer_may_have_come_before_it_is_waited_for(ask: Ask) -> None:
    async with RawServer(replying(GOOD, keep=True)) as server:
        await ask(server.url)
        call = made(ask, server)
        call.begin()
        await asyncio.sleep(0.05)
        answer = await call.answer()
    assert (answer.outcome, answer.chunks) == (Outcome.OK, 2)
    assert answer.sent_at is not None
    assert answer.sent_at <= (answer.first_token_at or 0.0) <= answer.done_at


async def test_abandoned_it_closes_its_connection(ask: Ask, transport: Transport) -> None:
    async with RawServer(in_turn([replying(GOOD, keep=True), stalling])) as server:
        await ask(server.url)
        call = made(ask, server)
        begun = call.begin()
        await asyncio.sleep(0.02)
        call.abandon()
        if not begun:  # aiohttp sends nothing before it is waited for
            assert len(server.asked) == 1
            return
        async with asyncio.timeout(30.0):
            await server.left.wait()


async def test_cancelled_while_it_is_waited_for_it_closes_its_connection(ask: Ask) -> None:
    async with RawServer(in_turn([replying(GOOD, keep=True), stalling])) as server:
        await ask(server.url)
        call = made(ask, server)
        call.begin()
        waiting = asyncio.ensure_future(call.answer())
        while len(server.asked) < 2:  # noqa: ASYNC110 - the server has it
            await asyncio.sleep(0.005)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(30.0):
            await server.left.wait()


async def test_on_a_stale_connection_it_is_sent_once_more_on_a_new_one(ask: Ask) -> None:
    scripts = [replying(GOOD, keep=True), closing, replying(GOOD)]
    async with RawServer(in_turn(scripts)) as server:
        await ask(server.url)
        call = made(ask, server)
        call.begin()
        answer = await call.answer()
    assert answer.outcome is Outcome.OK
    assert [asked.connection for asked in server.asked] == [1, 1, 2]


async def test_its_time_outs_run_from_its_beginning_and_not_from_its_making(ask: Ask) -> None:
    async with RawServer(in_turn([replying(GOOD, keep=True), stalling])) as server:
        await ask(server.url)
        call = made(ask, server, Timeouts(total=0.5))
        await asyncio.sleep(0.3)
        began = time.monotonic()
        call.begin()
        answer = await call.answer()
    assert answer.outcome is Outcome.TIMEOUT_TOTAL
    assert answer.done_at - began >= 0.499


async def test_its_time_outs_run_from_its_beginning_and_not_from_the_waiting(
    ask: Ask, transport: Transport
) -> None:
    async with RawServer(in_turn([replying(GOOD, keep=True), stalling])) as server:
        await ask(server.url)
        call = made(ask, server, Timeouts(total=0.5))
        begun = call.begin()
        await asyncio.sleep(0.55)
        waits_from = time.monotonic()
        answer = await call.answer()
    assert answer.outcome is Outcome.TIMEOUT_TOTAL
    assert begun == sends_at_once(transport)
    assert answer.done_at - waits_from < 0.5


async def test_an_answer_that_was_over_before_it_is_waited_for_waits_for_no_message_end(
    ask: Ask,
) -> None:
    async def no_end(asked: Asked, wire: Wire) -> None:
        await wire.send(GOOD.removesuffix(b"0\r\n\r\n"))
        await wire.stall()

    async with RawServer(in_turn([replying(GOOD, keep=True), no_end])) as server:
        await ask(server.url)
        call = made(ask, server)
        call.begin()
        await asyncio.sleep(0.05)
        async with asyncio.timeout(30.0):
            assert (await call.answer()).outcome is Outcome.OK

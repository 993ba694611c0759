"""What is our own transport's alone: its pool, its pins and its end."""

from __future__ import annotations

import asyncio

import pytest

from engines.client import EngineClient
from engines.egress import EgressRules
from engines.http_get import get
from engines.request import CompletionRequest, Timeouts
from engines.target import Target
from engines.transport.base import Exchange, HttpRequest
from engines.transport.httptools_stream import HttptoolsTransport
from measurement.outcome import Outcome
from tests.engines.conftest import QUICK, Ask
from tests.engines.raw_server import Asked, RawServer, Wire, page, replying, stream
from tests.engines.sayings import HELLO

GOOD = stream(HELLO)


class Names:
    """A resolver that counts, and may answer otherwise the second time."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        await asyncio.sleep(0)
        return self._answers[min(self.asked, len(self._answers)) - 1]


async def test_a_name_is_resolved_once_for_all_requests_and_pinned() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    transport = HttptoolsTransport(EgressRules.loopback(), lookup=names)
    async with RawServer(replying(GOOD)) as server:
        ask = Ask(transport)
        url = f"http://engine.example:{server.port}"
        answers = await asyncio.gather(*(ask(url) for _ in range(8)))
        answers.append(await ask(url))
    await transport.close()
    assert {answer.outcome for answer in answers} == {Outcome.OK}
    assert (names.asked, transport.dialled) == (1, 9)
    assert f"Host: engine.example:{server.port}" in server.asked[0].head


async def test_the_next_address_is_tried_when_one_refuses() -> None:
    transport = HttptoolsTransport(EgressRules.loopback(), lookup=Names(["127.0.0.9", "127.0.0.1"]))
    async with RawServer(replying(GOOD)) as server:
        answer = await Ask(transport)(f"http://engine.example:{server.port}")
    await transport.close()
    assert answer.outcome is Outcome.OK


async def test_no_more_connections_rest_than_the_cap() -> None:
    transport = HttptoolsTransport(EgressRules.loopback(), keep_alive=2)
    async with RawServer(replying(GOOD, keep=True)) as server:
        ask = Ask(transport)
        for _ in range(2):
            await asyncio.gather(*(ask(server.url) for _ in range(5)))
    await transport.close()
    assert server.connections == 8


@pytest.mark.parametrize(
    ("reply", "limit"),
    [
        pytest.param(GOOD, 0.0, id="our own limit"),
        pytest.param(stream(HELLO, Keep_Alive="timeout=0"), 60.0, id="the server's word"),
    ],
)
async def test_a_connection_that_has_rested_too_long_is_not_used(
    reply: bytes, limit: float
) -> None:
    transport = HttptoolsTransport(EgressRules.loopback(), idle_limit=limit)
    async with RawServer(replying(reply, keep=True)) as server:
        ask = Ask(transport)
        assert [(await ask(server.url)).outcome for _ in range(3)] == [Outcome.OK] * 3
    await transport.close()
    assert server.connections == 3


async def test_closing_ends_what_is_under_way() -> None:
    reached = asyncio.Event()

    async def script(asked: Asked, wire: Wire) -> None:
        reached.set()
        await wire.stall()

    transport = HttptoolsTransport(EgressRules.loopback())
    async with RawServer(script) as server:
        task = asyncio.create_task(Ask(transport)(server.url))
        await reached.wait()
        await transport.close()
        answer = await task
    assert answer.outcome is Outcome.INCOMPLETE
    assert "our side" in answer.error


@pytest.mark.parametrize("callback", ["on_sent", "on_tokens", "on_answer"])
async def test_a_defect_of_a_callback_comes_out_and_hides_as_no_outcome(callback: str) -> None:
    def broken(*_: float) -> None:
        raise ZeroDivisionError("a bug")

    transport = HttptoolsTransport(EgressRules.loopback())
    async with RawServer(replying(GOOD)) as server:
        client = EngineClient(Target(server.url, "m"), transport)
        with pytest.raises(ZeroDivisionError, match="a bug"):
            await client.complete(CompletionRequest("Hi", 8), QUICK, **{callback: broken})
    await transport.close()


async def test_time_outs_may_be_turned_off() -> None:
    off = float("inf")
    transport = HttptoolsTransport(EgressRules.loopback())
    async with RawServer(replying(GOOD)) as server:
        answer = await Ask(transport)(server.url, Timeouts(off, off, off, off))
    await transport.close()
    assert answer.outcome is Outcome.OK


@pytest.mark.parametrize("bad", [("X", "a\r\nY: b"), ("X: y\r\nZ", "a"), ("X", "é")])
async def test_a_header_that_would_break_the_request_is_never_sent(bad: tuple[str, str]) -> None:
    transport = HttptoolsTransport(EgressRules.loopback())
    async with RawServer(replying(page(b""))) as server:
        with pytest.raises(ValueError, match="does not allow"):
            await get(server.url, transport, within=1.0, headers=(bad,))
        assert server.asked == []
    await transport.close()


async def test_an_exchange_ends_once() -> None:
    exchange = Exchange(HttpRequest("GET", "http://h"), Ask, lambda: 3.0, connect_within=1.0)  # type: ignore[arg-type]
    exchange.end(Outcome.TIMEOUT_IDLE)
    exchange.end(None)
    exchange.defect(ValueError("late"))
    assert (await exchange.ended).outcome is Outcome.TIMEOUT_IDLE

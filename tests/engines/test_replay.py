"""Streams of real engines over a real socket, cut in every place: the same tokens each time."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from engines.answer import Answer
from engines.egress import EgressRules
from engines.transport.httptools_stream import HttptoolsTransport
from measurement.outcome import Outcome
from tests.engines.conftest import Ask
from tests.engines.raw_server import Asked, RawServer, Wire, stream
from tests.engines.sayings import captured

STREAMS = {
    "vllm-chat.sse": (7, 8),
    "vllm-continuous.sse": (4, 4),
    "vllm-completions.sse": (4, 4),
    "llamacpp-chat.sse": (8, 8),
    "llamacpp-no-usage.sse": (4, 4),
}


def events(name: str) -> bytes:
    """The whole response, each event a chunk of its own as the engines send them."""
    parts = captured(name).split(b"\n\n")[:-1]
    return stream(*(part + b"\n\n" for part in parts))


def right(answer: Answer, name: str) -> bool:
    chunks, tokens = STREAMS[name]
    return (
        answer.outcome is Outcome.TRUNCATED
        and (answer.chunks, answer.output_tokens) == (chunks, tokens)
        and len(answer.gaps) == chunks - 1
        and answer.first_token_at is not None
    )


class Cutter:
    """Sends the response in two segments, cut ``step`` bytes further each time."""

    def __init__(self, reply: bytes, step: int) -> None:
        self.reply, self.step = reply, step

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        at = asked.index * self.step % len(self.reply)
        wire.keep = True
        await wire.send(self.reply[:at], self.reply[at:])


@pytest.mark.parametrize("name", STREAMS)
async def test_every_cut_in_two(ask: Ask, name: str, request: pytest.FixtureRequest) -> None:
    """What reads tokens out of bytes is one for all; the other transports are cut at each fifth."""
    reply = events(name)
    step = 1 if request.node.callspec.params["transport"] == "protocol" else 5
    async with RawServer(Cutter(reply, step)) as server:
        for at in range(0, len(reply), step):
            assert right(await ask(server.url), name), f"cut at byte {at}"
    # Cut behind [DONE], the answer is given while its connection reads on to the end.
    assert server.connections <= 2


@pytest.mark.parametrize("name", STREAMS)
async def test_byte_by_byte(ask: Ask, name: str) -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(*(bytes([byte]) for byte in events(name)))

    async with RawServer(script) as server:
        assert right(await ask(server.url), name)


async def test_the_first_token_of_llamacpp_is_not_its_null_content(ask: Ask) -> None:
    head, role, rest = events("llamacpp-chat.sse").partition(b"\n\n\r\n")
    roled = asyncio.Event()
    times: list[float] = []

    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(head + role)
        roled.set()
        await asyncio.sleep(0.05)
        times.append(asyncio.get_running_loop().time())
        await wire.send(rest)

    async with RawServer(script) as server:
        answer = await ask(server.url)
    assert answer.first_token_at is not None
    assert answer.first_token_at >= times[0]


def test_it_works_on_uvloop_too() -> None:
    async def all_streams() -> None:
        transport = HttptoolsTransport(EgressRules.loopback())
        for name in STREAMS:
            reply = events(name)
            async with RawServer(Cutter(reply, 7)) as server:
                ask = Ask(transport)
                for at in range(0, len(reply), 7):
                    assert right(await ask(server.url), name), f"cut at byte {at}"
        await transport.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(all_streams())

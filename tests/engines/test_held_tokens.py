"""Tokens that were read and wait to be parsed are told when somebody asks, and none gets lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from engines.client import EngineClient
from engines.egress import EgressRules
from engines.request import CompletionRequest
from engines.target import Target
from engines.transport.base import Transport
from engines.transport.httptools_stream import HttptoolsTransport
from engines.transport.kernel_clock import KernelClock
from tests.engines.conftest import QUICK
from tests.engines.raw_server import Asked, RawServer, Wire, chunk, head
from tests.engines.sayings import delta

STREAM = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
TOKENS = 6


class Streaming:
    """A server that says so many tokens and no more; what of them was told, and when."""

    def __init__(self) -> None:
        self.said = asyncio.Event()
        self.told: list[float] = []

    async def script(self, asked: Asked, wire: Wire) -> None:
        await wire.send(STREAM)
        for turn in range(TOKENS):
            await wire.send(chunk(delta(content=f" {turn}")))
            await asyncio.sleep(0.005)
        self.said.set()
        await wire.stall()

    def on_tokens(self, ats: Sequence[float], counts: Sequence[int]) -> None:
        assert len(ats) == sum(counts)
        self.told += ats

    async def asking(self, transport: Transport, url: str) -> asyncio.Task[object]:
        """A request under way whose tokens have all been sent."""
        client = EngineClient(Target(url, "m"), transport)
        asked = CompletionRequest("Hi", 8)
        call = client.complete(asked, QUICK, on_tokens=self.on_tokens)
        task: asyncio.Task[object] = asyncio.create_task(call)
        await self.said.wait()
        await asyncio.sleep(0.01)
        return task


async def test_a_call_that_is_given_up_has_told_all_that_came(transport: Transport) -> None:
    it = Streaming()
    async with RawServer(it.script) as server:
        task = await it.asking(transport, server.url)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert len(it.told) == TOKENS
    assert it.told == sorted(it.told)


@pytest.mark.parametrize("stamps", [True, False])
async def test_what_waits_is_told_when_a_window_is_about_to_be(*, stamps: bool) -> None:
    it, clock = Streaming(), KernelClock() if stamps else None
    transport = HttptoolsTransport(EgressRules.loopback(), kernel_clock=clock)
    async with RawServer(it.script) as server:
        task = await it.asking(transport, server.url)
        assert len(it.told) < TOKENS  # the first at once, others when they are parsed
        await transport.settle()
        assert len(it.told) == TOKENS
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await transport.close()

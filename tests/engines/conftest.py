"""Every transport is held to the same conformance: add one here and it is tested."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from engines.answer import Answer
from engines.client import EngineClient
from engines.egress import EgressRules
from engines.request import CompletionRequest, Timeouts
from engines.target import Target
from engines.transport.aiohttp_stream import AiohttpTransport
from engines.transport.base import Transport
from engines.transport.httptools_stream import HttptoolsTransport
from engines.transport.kernel_clock import KernelClock

TRANSPORTS: dict[str, Callable[[EgressRules], Transport]] = {
    "aiohttp": AiohttpTransport,
    "protocol": HttptoolsTransport,
    "kernel": lambda rules: HttptoolsTransport(rules, kernel_clock=KernelClock()),
}

QUICK = Timeouts(connect=5.0, first_token=10.0, idle=10.0, total=20.0)


@pytest.fixture(params=sorted(TRANSPORTS))
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    made = TRANSPORTS[request.param](EgressRules.loopback())
    yield made
    await made.close()


class Ask:
    """Asks a server one thing after another over the transport under test."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def client(self, url: str, **target: str) -> EngineClient:
        return EngineClient(Target(url, **{"model": "m", **target}), self._transport)

    async def __call__(
        self, url: str, timeouts: Timeouts = QUICK, *, stream: bool = True, **target: str
    ) -> Answer:
        request = CompletionRequest("Hi", 8, stream=stream)
        return await self.client(url, **target).complete(request, timeouts)


@pytest.fixture
def ask(transport: Transport) -> Ask:
    return Ask(transport)

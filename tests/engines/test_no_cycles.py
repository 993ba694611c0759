"""What a call leaves is freed when it ends, so that no collector has to stop the streams for it."""

from __future__ import annotations

import gc

from engines.client import EngineClient
from engines.request import CompletionRequest, Timeouts
from engines.target import Target
from engines.transport.base import Ending, Exchange
from measurement.outcome import Outcome

EVENT = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'


class AtOnce:
    """A transport whose engine has answered before it was asked."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    async def prepare(self, url: str) -> None: ...

    async def close(self) -> None: ...

    async def exchange(self, exchange: Exchange) -> Ending:
        exchange.sink.on_sent(0.0)
        exchange.sink.on_head(200, {})
        for part in self._parts:
            exchange.sink.on_body(0.1, part)
        exchange.end(None, at=0.2)
        return await exchange.ended


async def test_a_call_that_is_over_waits_for_no_collector() -> None:
    target = Target("http://127.0.0.1:1", "simulated", "vllm")
    client = EngineClient(target, AtOnce(EVENT * 3, b"data: [DONE]\n\n"), lambda: 0.0)
    asked = CompletionRequest("hello", 3)
    gc.collect()
    gc.disable()
    try:
        for _ in range(50):
            answer = await client.complete(asked, Timeouts(), on_tokens=lambda _at, _n: None)
            assert answer.outcome is not Outcome.MALFORMED
        assert gc.collect() < 50
    finally:
        gc.enable()

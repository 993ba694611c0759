"""The gateway before the simulated engine, asked with OpenAI's own client and with mixed load."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import openai
import pytest

from simulator.faults import Faults
from tests.gateway.serving import AUTH, KEY, Gateway, config, gateway, policy
from tests.gateway.test_disconnect import Leaver
from tests.gateway.waiting import within
from tests.simulator.serving import connected, metrics, sample, serving

SAY = [{"role": "user", "content": "Say something"}]


def client_of(server: Gateway, key: str = KEY) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=key, base_url=f"http://127.0.0.1:{server.port}/v1", max_retries=0
    )


async def test_the_openai_client_streams_chat_through_the_gateway() -> None:
    async with serving() as engine, gateway(config(f"http://127.0.0.1:{engine.port}")) as server:
        async with client_of(server) as client:
            stream = await client.chat.completions.create(
                model="simulated",
                messages=SAY,  # type: ignore[arg-type]
                max_tokens=20,
                stream=True,
                stream_options={"include_usage": True},
                extra_body={"ignore_eos": True},
            )
            chunks = [chunk async for chunk in stream]
            assert sum(bool(c.choices and c.choices[0].delta.content) for c in chunks) == 20
            assert chunks[-1].usage is not None
            assert chunks[-1].usage.completion_tokens == 20
            whole = await client.completions.create(model="simulated", prompt="a", max_tokens=3)
            assert whole.usage is not None
            assert whole.usage.completion_tokens == 3
            assert [model.id async for model in client.models.list()] == ["m"]
        await within(1, lambda: server.at_rest)
    streamed, at_once = (served.sample for served in server.served)
    assert (streamed.output_tokens, streamed.chunks) == (20, 20)
    assert (at_once.output_tokens, at_once.first_token_at) == (3, None)


async def test_the_openai_client_knows_our_refusals() -> None:
    given: dict[str, Any] = {"policies": (policy(limit=1),), "queue": {"bound": 0}}
    async with (
        serving() as engine,
        gateway(config(f"http://127.0.0.1:{engine.port}", **given)) as server,
    ):
        async with client_of(server, "sk-wrong") as client:
            with pytest.raises(openai.AuthenticationError) as refused:
                await client.models.list()
            assert refused.value.code == "invalid_api_key"
        body = {"model": "simulated", "messages": SAY, "max_tokens": 900, "ignore_eos": True}
        held = await Leaver.ask(server, body)
        await within(2, lambda: server.lane.limiter.in_flight)
        async with client_of(server) as client:
            with pytest.raises(openai.RateLimitError) as limited:
                await client.chat.completions.create(
                    model="simulated",
                    messages=SAY,  # type: ignore[arg-type]
                )
        assert limited.value.code == "queue_full"
        assert int(limited.value.response.headers["retry-after"]) >= 1
        await held.reset()
        await within(1, lambda: server.at_rest)


async def test_who_leaves_frees_the_engine_too() -> None:
    async with serving() as engine, gateway(config(f"http://127.0.0.1:{engine.port}")) as server:
        body = {"model": "simulated", "messages": SAY, "max_tokens": 1500, "ignore_eos": True}
        clients = [await Leaver.ask(server, body | {"stream": n % 2 == 0}) for n in range(6)]
        await within(3, lambda: server.lane.limiter.in_flight == 6)
        await asyncio.sleep(0.02)
        for client in clients:
            await client.reset()
        await within(0.1, lambda: server.at_rest)
        await within(0.1, lambda: engine.app is not None and not engine.app.host.engine.running)
        page = await metrics(engine)
        assert page[sample("vllm:num_requests_running")] == 0


async def test_nothing_is_left_after_500_mixed_requests() -> None:
    faults = Faults(
        rate_limit=0.1, server_error=0.1, error_frame=0.1, disconnect=0.1, retry_after_s=1
    )
    given: dict[str, Any] = {"policies": (policy(limit=16),), "queue": {"bound": 24, "ttl_s": 0.2}}
    statuses: Counter[int] = Counter()

    async def one(server: Gateway, place: int) -> None:
        body: dict[str, Any] = {
            "model": "simulated",
            "messages": SAY,
            "max_tokens": 1 + place % 40,
            "stream": place % 3 != 0,
            "ignore_eos": True,
        }
        if place % 5 == 0:
            leaver = await Leaver.ask(server, body)
            await asyncio.sleep(0.002 * (place % 17))
            await leaver.reset()
            return
        key = "authorization: Bearer sk-no\r\n" if place % 11 == 0 else AUTH
        try:
            async with connected(server) as client:  # type: ignore[arg-type]
                answer = await client.ask("POST", "/v1/chat/completions", body, extra=key)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            statuses[0] += 1  # broken off by the engine, and passed on so
        else:
            statuses[answer.status] += 1

    async with (
        serving(faults=faults) as engine,
        gateway(config(f"http://127.0.0.1:{engine.port}", **given)) as server,
    ):
        for start in range(0, 500, 50):
            await asyncio.gather(*(one(server, start + n) for n in range(50)))
        await within(3, lambda: server.at_rest and not server.door.connections)
        ended = Counter(str(served.sample.outcome) for served in server.served)
        assert sum(server.books.outcomes.values()) == len(server.served) == sum(ended.values())
        assert len(server.pipeline._flights) == 0
        page = await metrics(engine)
        assert page[sample("vllm:num_requests_running")] == 0
        assert page[sample("vllm:num_requests_waiting")] == 0
    assert {"truncated", "rejected_429", "http_5xx", "in_band_error", "cancelled"} <= ended.keys()
    assert {200, 401, 429, 500, 0} <= statuses.keys()

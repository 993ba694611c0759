"""The served engine, as the OpenAI SDK and a scraper see it over real sockets."""

from __future__ import annotations

import asyncio
import time

import openai
import pytest

from simulator import profile
from simulator.server import EngineServer, PortTaken, ServerOptions
from simulator.text import count_tokens
from tests.simulator.core.engines import config
from tests.simulator.serving import ROOMY, ask, connected, metrics, sample, serving, until

PROMPT = "tell me of the old days"
RUNNING = sample("vllm:num_requests_running")
KV = sample("vllm:kv_cache_usage_perc")


def sdk(server: EngineServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0
    )


async def test_a_chat_answers_with_exact_text_and_usage() -> None:
    async with serving() as server, sdk(server) as client:
        answer = await client.chat.completions.create(
            model="simulated",
            messages=[{"role": "user", "content": PROMPT}],
            max_tokens=40,
            extra_body={"ignore_eos": True},
        )
    content = answer.choices[0].message.content
    assert content is not None
    assert answer.usage is not None
    assert count_tokens(content) == answer.usage.completion_tokens == 40
    assert answer.usage.prompt_tokens == 6
    assert answer.choices[0].finish_reason == "length"


async def test_a_stream_says_the_same_text_one_token_a_chunk() -> None:
    async with serving() as server, sdk(server) as client:
        whole = await client.completions.create(model="simulated", prompt=PROMPT, max_tokens=30)
        stream = await client.completions.create(
            model="simulated",
            prompt=PROMPT,
            max_tokens=30,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    pieces = [chunk.choices[0].text for chunk in chunks[:-1]]
    assert "".join(pieces) == whole.choices[0].text
    assert {count_tokens(piece) for piece in pieces} == {1}
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == len(pieces) == 30


async def test_an_answer_may_end_by_itself() -> None:
    async with serving() as server, sdk(server) as client:
        answer = await client.chat.completions.create(
            model="simulated", messages=[{"role": "user", "content": PROMPT}]
        )
    assert answer.choices[0].finish_reason == "stop"


async def test_errors_are_those_of_the_sdk() -> None:
    async with serving() as server, sdk(server) as client:
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            await client.completions.create(model="gpt-2", prompt=PROMPT)
        with pytest.raises(openai.BadRequestError, match="maximum context length is 2000"):
            await client.completions.create(model="simulated", prompt=PROMPT, max_tokens=2000)
        listed = await client.models.list()
        assert [model.id for model in listed.data] == ["simulated"]


async def test_a_full_engine_answers_503_and_counts_it() -> None:
    async with serving(config(max_queued_requests=1)) as server, connected(server) as first:
        first.send("POST", "/v1/completions", {"prompt": "a", "max_tokens": 90, "ignore_eos": True})
        await until(server, RUNNING, 1.0)
        refused = await ask(server, "POST", "/v1/completions", {"prompt": "a"})
        assert refused.status == 503
        assert refused.json()["error"]["type"] == "ServiceUnavailableError"
        counted = await metrics(server)
    assert (
        counted[
            'vllm:admission_rejections_total{model_name="simulated",reason="max_num_queued_reqs"}'
        ]
        == 1
    )


async def test_a_client_that_goes_frees_its_blocks_at_once() -> None:
    long = {"prompt": PROMPT, "max_tokens": 1900, "ignore_eos": True, "stream": True}
    async with serving() as server:
        async with connected(server) as client:
            client.send("POST", "/v1/completions", long)
            await client.reader.readuntil(b"data: ")
            seen = await metrics(server)
            assert seen[RUNNING] == 1
            assert seen[KV] > 0
        await until(server, RUNNING, 0.0)
        after = await metrics(server)
        assert after[KV] == 0
        assert after[sample("vllm:request_success_total", finished_reason="abort")] == 1
        assert after[sample("vllm:generation_tokens_total")] < 1900


async def test_a_waiting_request_whose_client_goes_is_forgotten() -> None:
    long = {"prompt": "a", "max_tokens": 1900, "ignore_eos": True}
    one_at_a_time = config(blocks=4001, max_model_len=2000, max_seqs=1)
    async with serving(one_at_a_time) as server, connected(server) as first:
        first.send("POST", "/v1/completions", long)
        await until(server, RUNNING, 1.0)
        async with connected(server) as second:
            second.send("POST", "/v1/completions", long)
            await until(server, sample("vllm:num_requests_waiting"), 1.0)
        await until(server, sample("vllm:num_requests_waiting"), 0.0)


async def test_two_hundred_streams_at_once_are_each_whole() -> None:
    async def one(server: EngineServer, place: int) -> tuple[int, int]:
        body = {
            "prompt": f"number {place}",
            "max_tokens": 10 + place % 7,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        events = (await ask(server, "POST", "/v1/completions", body)).events()
        assert events[-1] == "[DONE]"
        assert "".join(event["choices"][0]["text"] for event in events[:-2])
        return len(events) - 2, events[-2]["usage"]["completion_tokens"]

    async with serving() as server:
        counts = await asyncio.gather(*[one(server, place) for place in range(200)])
        after = await metrics(server)
    assert counts == [(10 + place % 7,) * 2 for place in range(200)]
    assert after[sample("vllm:generation_tokens_total")] == sum(count for count, _ in counts)
    assert after[KV] == 0


async def test_tokens_come_as_the_profile_has_them() -> None:
    shipped = profile.load(profile.DEFAULT)
    body = {"prompt": "a " * 500, "max_tokens": 25, "ignore_eos": True, "stream": True}
    async with serving(shipped.config(ingest_s=0.0)) as server, connected(server) as client:
        sent = time.monotonic()
        client.send("POST", "/v1/completions", body)
        await client.reader.readuntil(b"\r\n\r\n")
        times = [time.monotonic() - sent async for _ in client.chunks()]
        lag = (await metrics(server))[sample("headway:engine_lag_seconds")]
    prefill = shipped.cost.seconds(500, 0, 1, 500 * 250)
    decode = shipped.cost.seconds(1, 512, 1, 0.0)
    late = lag + 0.25  # a busy machine may read late as well
    assert prefill <= times[0] <= prefill + late
    assert 24 * decode - late <= times[24] - times[0] <= 24 * decode + late


async def test_metrics_agree_with_what_was_answered() -> None:
    async with serving() as server:
        for _ in range(3):
            await ask(server, "POST", "/v1/completions", {"prompt": "a b c", "max_tokens": 4})
        seen = await metrics(server)
    assert seen[sample("vllm:prompt_tokens_total")] == 9
    assert seen[sample("vllm:generation_tokens_total")] == 12
    assert seen[sample("vllm:time_to_first_token_seconds_count")] == 3
    assert seen[sample("vllm:inter_token_latency_seconds_count")] == 9
    assert seen[sample("vllm:e2e_request_latency_seconds_bucket", le="+Inf")] == 3
    assert seen[sample("vllm:request_success_total", finished_reason="length")] == 3
    assert seen[sample("headway:engine_step_lag_seconds_count")] == 12


async def test_a_taken_port_is_told() -> None:
    async with serving() as server:
        second = EngineServer(ServerOptions(config=ROOMY, port=server.port))
        with pytest.raises(PortTaken, match=f"port {server.port} on 127.0.0.1 is taken"):
            await second.start()

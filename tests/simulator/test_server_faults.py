"""Faults on purpose, as their victims see them."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import Any

import pytest

from simulator.faults import Faults
from tests.simulator.serving import ask, connected, metrics, sample, serving, until

BODY = {"prompt": "hello there", "max_tokens": 10, "ignore_eos": True, "stream": True}


async def struck(fault: str, **more: Any) -> Any:
    async with serving(faults=Faults(**({fault: 1.0} | more))) as server:
        return await ask(server, "POST", "/v1/completions", BODY)


async def test_a_rate_limit_says_when_to_come_back() -> None:
    answer = await struck("rate_limit", retry_after_s=3.0)
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")
    assert answer.json()["error"]["type"] == "RateLimitError"


async def test_a_server_error_is_a_500() -> None:
    assert (await struck("server_error")).status == 500


async def test_an_error_frame_comes_halfway_under_status_200() -> None:
    answer = await struck("error_frame")
    *tokens, error, done = answer.events()
    assert (answer.status, len(tokens), done) == (200, 5, "[DONE]")
    assert error["error"]["code"] == 500


async def test_an_error_frame_without_a_stream_is_a_500() -> None:
    async with serving(faults=Faults(error_frame=1.0)) as server:
        answer = await ask(server, "POST", "/v1/completions", BODY | {"stream": False})
        assert answer.status == 500
        await until(server, sample("vllm:num_requests_running"), 0.0)


async def test_a_disconnect_breaks_the_stream_and_frees_the_engine() -> None:
    async with serving(faults=Faults(disconnect=1.0)) as server:
        async with connected(server) as client:
            client.send("POST", "/v1/completions", BODY)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.answer()
        await until(server, sample("vllm:num_requests_running"), 0.0)


async def test_a_stall_is_a_silence_halfway_and_then_the_rest() -> None:
    faults = Faults(stall=1.0, stall_s=0.3)
    async with serving(faults=faults) as server, connected(server) as client:
        client.send("POST", "/v1/completions", BODY)
        await client.reader.readuntil(b"\r\n\r\n")
        times = [time.monotonic() async for _ in client.chunks()]
    gaps = [after - before for before, after in pairwise(times)]
    assert len(times) == 10
    assert gaps.index(max(gaps)) == 4
    assert max(gaps) > 0.25


async def test_a_slow_answer_is_whole_but_late() -> None:
    began = time.monotonic()
    answer = await struck("slow", slow_ms=20.0)
    assert len(answer.events()) == 11
    assert time.monotonic() - began > 9 * 0.02


async def test_faults_change_at_run_time_and_are_shown() -> None:
    async with serving() as server:
        changed = await ask(server, "POST", "/faults", {"rate_limit": 1.0})
        assert changed.status == 200
        assert (await ask(server, "GET", "/faults")).json()["rate_limit"] == 1.0
        assert (await ask(server, "POST", "/v1/completions", BODY)).status == 429
        await ask(server, "POST", "/faults", {})
        assert (await ask(server, "POST", "/v1/completions", BODY)).status == 200


@pytest.mark.parametrize("body", [{"rate_limit": 2}, {"rat_limit": 0.1}, [], {"stall": "much"}])
async def test_faults_that_make_no_sense_are_told(body: Any) -> None:
    async with serving() as server:
        answer = await ask(server, "POST", "/faults", body)
    assert answer.status == 400
    assert answer.json()["error"]["message"]


async def test_metrics_can_freeze_or_be_missing() -> None:
    name = sample("vllm:generation_tokens_total")
    async with serving() as server:
        await ask(server, "POST", "/faults", {"metrics": "frozen"})
        await ask(server, "POST", "/v1/completions", BODY)
        assert (await metrics(server))[name] == 0
        await ask(server, "POST", "/faults", {"metrics": "missing"})
        assert (await ask(server, "GET", "/metrics")).status == 404
        await ask(server, "POST", "/faults", {})
        assert (await metrics(server))[name] == 10

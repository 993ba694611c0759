"""The page's own examples, with the OpenAI client and aiohttp against the simulated engine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import openai

from headway.limits import Limit
from simulator.faults import Faults
from tests.simulator.serving import serving

PAGE = Path(__file__).parents[3] / "docs" / "use-as-a-library.md"


async def test_the_openai_client_asks_in_turn_and_comes_back_after_refusals() -> None:
    limit = Limit("chat-steady")
    async with serving(faults=Faults(rate_limit=0.2, retry_after_s=0.01)) as engine:
        url = f"http://127.0.0.1:{engine.port}/v1"
        async with openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client:

            async def ask(text: str) -> int:
                answer = await limit.call(
                    client.completions.create,
                    model="simulated",
                    prompt=text,
                    max_tokens=4,
                    extra_body={"ignore_eos": True},
                )
                assert answer.usage is not None
                return answer.usage.completion_tokens

            answers = await asyncio.gather(*(ask(f"question {n}") for n in range(20)))
    assert answers == [4] * 20
    assert (limit.in_flight, limit.waiting) == (0, 0)
    assert limit.not_held == ("admission", "ordering", "batching", "preemption")


async def test_aiohttp_streams_under_a_limit_and_tells_its_status() -> None:
    limit = Limit("fixed-32")
    body = {"model": "simulated", "prompt": "a", "max_tokens": 5, "stream": True}
    async with serving() as engine, aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{engine.port}/v1/completions"

        async def ask() -> int:
            async with limit.request() as request, session.post(url, json=body) as response:
                request.status(response.status, response.headers)
                lines = 0
                async for _ in response.content:
                    request.first_token()
                    lines += 1
                return lines

        lines = await asyncio.gather(*(ask() for _ in range(8)))
    assert all(count > 1 for count in lines)
    assert limit.in_flight == 0


def test_the_page_holds_the_code_that_is_tested_here() -> None:
    text = PAGE.read_text("utf-8")
    for line in (
        "from headway.limits import Limit",
        'limit = Limit("chat-steady")',
        "answer = await limit.call(",
        "async with limit.request() as request, session.post(url, json=body) as response:",
        "request.status(response.status, response.headers)",
    ):
        assert line in text, line

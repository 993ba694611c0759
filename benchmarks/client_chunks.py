"""What one streamed chunk costs our client in CPU time, against a server of the OpenAI shape.

    python -m benchmarks.client_chunks http://127.0.0.1:8100 --model mock-model --requests 2000

The bar is 20 µs a chunk on uvloop. Run the server on another core; CPU time of this process is
what is counted, so a slow server makes the run longer and not the figure larger.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from collections import Counter

import uvloop

from engines.client import Answer, EngineClient
from engines.egress import EgressRules
from engines.request import CompletionRequest, Timeouts
from engines.target import Target
from engines.transport.httptools_stream import HttptoolsTransport
from engines.transport.kernel_clock import KernelClock


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(
    target: Target, *, requests: int, concurrency: int, tokens: int, stamps: bool
) -> None:
    clock = KernelClock() if stamps else None
    transport = HttptoolsTransport(EgressRules.open(), kernel_clock=clock)
    client = EngineClient(target, transport)
    request = CompletionRequest("one two three four five six seven", tokens)
    left = iter(range(requests))
    answers: list[Answer] = []

    async def slot() -> None:
        for _ in left:
            answer = await client.complete(request, Timeouts())
            answers.append(answer)

    await client.complete(request, Timeouts())
    began, spent = time.perf_counter(), cpu_seconds()
    async with asyncio.TaskGroup() as load:
        for _ in range(concurrency):
            load.create_task(slot())
    spent, took = cpu_seconds() - spent, time.perf_counter() - began
    await transport.close()
    chunks = sum(answer.chunks for answer in answers)
    print(f"outcomes             {dict(Counter(answer.outcome.value for answer in answers))}")
    print(f"connections opened   {transport.dialled}")
    print(f"chunks               {chunks:,} in {took:.2f} s, {chunks / took:,.0f} a second")
    print(f"CPU per chunk        {spent / chunks * 1e6:.1f} µs")
    print(f"CPU per request      {spent / len(answers) * 1e3:.2f} ms of {tokens} tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--model", default="mock-model")
    parser.add_argument("--kind", default="openai")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    parser.add_argument("--stamps", action="store_true", help="times by the kernel")
    given = parser.parse_args()
    factory = uvloop.new_event_loop if given.loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(
            measure(
                Target(given.url, given.model, given.kind),
                requests=given.requests,
                concurrency=given.concurrency,
                tokens=given.tokens,
                stamps=given.stamps,
            )
        )


if __name__ == "__main__":
    main()

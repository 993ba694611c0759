"""Acquire and release pairs a second: our limiter beside what scripts use today, in one run.

    python -m benchmarks.limiter_throughput

Tasks share one limit of 16, hold a place over one turn of the event loop, and give it back; first
few of them, so that nobody waits, then many, so that all do. CPU time of this process, the best of
five. `asyncio.Semaphore` only counts, and `aiolimiter` (installed by hand) paces; ours also lets a
law learn from every release, so its price includes the law's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from documents.parse import build
from schedulers.concurrency.base import laws
from schedulers.runtime.limiter import Limiter

LIMIT = 16
PAIRS = 40_000
ROUNDS = 5
TASKS = (8, 256)

Pair = Callable[[], Awaitable[None]]


def semaphore() -> Pair:
    """Counts, and knows no law."""
    held = asyncio.Semaphore(LIMIT)

    async def pair() -> None:
        async with held:
            await asyncio.sleep(0)

    return pair


def aiolimiter() -> Pair:
    """A leaky bucket so large that it holds nobody: what asking it costs at all."""
    bucket = import_module("aiolimiter").AsyncLimiter(1e9, 1.0)

    async def pair() -> None:
        async with bucket:
            await asyncio.sleep(0)

    return pair


def ours(name: str, **given: Any) -> Callable[[], Pair]:
    """A limiter held to a law."""

    def make() -> Pair:
        limiter = Limiter(build(laws.get(name), given), time.monotonic)

        async def pair() -> None:
            permit = await limiter.acquire()
            await asyncio.sleep(0)
            limiter.release(permit)

        return pair

    return make


def main() -> None:
    makers: dict[str, Callable[[], Pair]] = {"asyncio.Semaphore": semaphore}
    if find_spec("aiolimiter"):
        makers["aiolimiter.AsyncLimiter"] = aiolimiter
    else:
        print("aiolimiter is not installed (pip install aiolimiter): left out")
    makers["Limiter, fixed"] = ours("fixed", limit=LIMIT)
    makers["Limiter, aimd"] = ours("aimd", min=1, initial=LIMIT, max=LIMIT)
    makers["Limiter, gradient2"] = ours("gradient2", min=LIMIT, initial=LIMIT, max=LIMIT)
    makers["Limiter, adaptive_bdp"] = ours("adaptive_bdp", min=1, max=LIMIT)
    for tasks in TASKS:
        print(f"{tasks} tasks, a limit of {LIMIT}")
        first = None
        for name, make in makers.items():
            rate = max(asyncio.run(pairs_per_second(make, tasks)) for _ in range(ROUNDS))
            first = first or rate
            print(f"  {name:<24} {rate:>10,.0f} pairs/s  {rate / first:5.2f} ×")


async def pairs_per_second(make: Callable[[], Pair], tasks: int) -> float:
    """By CPU time."""
    pair, each = make(), PAIRS // tasks

    async def worker() -> None:
        for _ in range(each):
            await pair()

    began = time.process_time()
    await asyncio.gather(*(worker() for _ in range(tasks)))
    return each * tasks / (time.process_time() - began)


if __name__ == "__main__":
    main()

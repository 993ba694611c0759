"""Short orders for tests, and what it takes to carry one out in virtual time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from loadtest import builtin
from loadtest.ab.book import BlockBook, Closed
from loadtest.ab.draft import draft
from loadtest.ab.execution import Standing, compare
from loadtest.ab.ground import Ground
from loadtest.ab.model import model_ground
from loadtest.ab.order import Order
from loadtest.ab.result import Result
from measurement.comparison.verdict import ComparisonVerdict
from simulator import virtual_time

SHORT = {"kind": "fixed", "prompt_tokens": 16, "output_tokens": 8}
SLO = {
    "apiVersion": "headway/v1",
    "kind": "SLO",
    "metadata": {"name": "quick", "owner": "tests"},
    "spec": {
        "target": 0.9,
        "objectives": [{"metric": "ttft_ms", "max": 100}, {"metric": "error", "max": 0}],
    },
}


def policy(limit: int, name: str = "steady") -> dict[str, Any]:
    return {
        "apiVersion": "headway/v1",
        "kind": "Policy",
        "metadata": {"name": name},
        "spec": {"concurrency": {"law": "fixed", "limit": limit}},
    }


def order(**changes: Any) -> Order:
    """Equal policies of two names, 40 blocks of some 30 requests an arm."""
    asked = {
        "baseline": policy(32),
        "candidate": policy(32, "steady-too"),
        "workload": SHORT,
        "arrivals": {"process": "poisson", "rate": 20},
        "slo": SLO,
        "block_s": 2.0,
        "washout_s": 0.5,
        "prompt_salt": "tests",
    }
    return draft(asked | changes)


WORSE = policy(1, "far-too-low")
"""At this rate the requests wait for each other."""
CHAT = dict(builtin.WORKLOADS["chat"])


class Heard:
    """An observer that remembers, and may act on a block."""

    def __init__(self, on_block: Callable[[int], None] = lambda _: None) -> None:
        self.power: tuple[Any, ...] = ()
        self.blocks: list[Closed] = []
        self.result: Result | None = None
        self._on_block = on_block

    def started(self, order: Order, power: Any, model: Any) -> None:
        assert not self.blocks
        self.power = power

    def standing(self, standing: Standing) -> None:
        assert standing.blocks <= standing.of

    def block(self, closed: Closed, book: BlockBook, verdict: ComparisonVerdict | None) -> None:
        self.blocks.append(closed)
        self._on_block(len(self.blocks))

    def concluded(self, result: Result) -> None:
        self.result = result


Grounds = Callable[[Order], AbstractAsyncContextManager[Ground]]


def carried_out(
    order: Order, out: Path, *, grounds: Grounds = model_ground, stop_after: int | None = None
) -> tuple[Result, Heard]:
    """In virtual time, on the ground given."""

    async def run() -> tuple[Result, Heard]:
        stop = asyncio.Event()
        heard = Heard(lambda n: stop.set() if n == stop_after else None)
        async with grounds(order) as ground:
            result = await compare(order, ground, out, heard, stop=stop, wall=time.monotonic)
        return result, heard

    return virtual_time.run(run())

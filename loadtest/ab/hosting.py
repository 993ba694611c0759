"""From an order to its result: the ground that its engines stand on, and the loop that fits it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from engines.egress import EgressRules
from loadtest.ab.endpoints import endpoints_ground
from loadtest.ab.engines import engines_ground
from loadtest.ab.execution import Observer, compare
from loadtest.ab.ground import Ground
from loadtest.ab.model import model_ground
from loadtest.ab.order import Order, Where
from loadtest.ab.result import Result
from loadtest.eventloop import run_fast
from simulator import virtual_time

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reach:
    """What a comparison may call, and with which credentials, in the endpoints' order."""

    rules: EgressRules
    keys: Sequence[str] = ()


async def carry_out(
    order: Order, out: Path, observer: Observer, *, reach: Reach, stop: asyncio.Event
) -> Result:
    """On the loop that ``loop_of`` names. EgressDenied, DocumentError or EngineLost as met."""
    async with _ground(order, reach) as ground:
        return await compare(order, ground, out, observer, stop=stop, wall=time.monotonic)


def loop_of(where: Where) -> Callable[[Coroutine[Any, Any, T]], T]:
    """Virtual time for the model; the load test's own loop for whatever answers by itself."""
    return virtual_time.run if where is Where.MODEL else run_fast


def _ground(order: Order, reach: Reach) -> AbstractAsyncContextManager[Ground]:
    if order.where is Where.MODEL:
        return model_ground(order)
    if order.where is Where.ENGINES:
        return engines_ground(order)
    return endpoints_ground(order, reach.rules, reach.keys)

"""``where=endpoints`` and ``where=switchback``: engines that somebody else runs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from documents.canonical import sha256
from documents.problem import DocumentError, Problem
from engines.egress import EgressRules
from engines.probe import Probe, probe
from engines.target import Target
from loadtest.ab.engines import client_of, signals_of
from loadtest.ab.ground import EngineLost, Ground
from loadtest.ab.order import Order
from loadtest.endpoint import Endpoint
from loadtest.loopwatch import LoopWatch

_PROBE_WITHIN = 10.0


@asynccontextmanager
async def endpoints_ground(
    order: Order, rules: EgressRules, keys: Sequence[str]
) -> AsyncIterator[Ground]:
    """``keys`` are the endpoints' credentials in their order; fewer mean none."""
    padded = (*keys, *("" for _ in order.endpoints))[: len(order.endpoints)]
    async with AsyncExitStack() as stack:
        clients, engines, signals = {}, {}, {}
        for lane, endpoint, key in zip(("P", "Q"), order.endpoints, padded, strict=False):
            engines[lane] = fingerprint(endpoint, await _asked(endpoint, rules, key))
            target = Target(endpoint.base_url, endpoint.model, endpoint.adapter, key)
            clients[lane] = await stack.enter_async_context(client_of(target, rules))
            signals[lane] = await stack.enter_async_context(signals_of(target, rules))
        watch = stack.enter_context(LoopWatch.watching(time.monotonic))
        yield Ground(
            clients=clients,
            engines=engines,
            clock=time.monotonic,
            signals=signals,
            stalls=watch.stalls,
        )


def fingerprint(endpoint: Endpoint, found: Probe) -> str:
    """Names an engine by what it shows to whoever asks it: kind, models, how it streams."""
    return sha256(
        {
            "kind": found.kind,
            "model": endpoint.model,
            "models": sorted(found.models),
            "streams": str(found.streams),
        }
    )


async def _asked(endpoint: Endpoint, rules: EgressRules, key: str) -> Probe:
    found = await probe(
        endpoint.base_url, rules, model=endpoint.model, api_key=key, within=_PROBE_WITHIN
    )
    if found.models and endpoint.model not in found.models:
        message = f"is not served there; it serves {', '.join(found.models[:8])}"
        raise DocumentError([Problem("endpoints", endpoint.model, message)])
    if not found.good:
        said = next((one.answered for one in reversed(found.findings) if not one.good), "nothing")
        raise EngineLost(f"{endpoint.base_url} gives no stream of tokens; it answered: {said}")
    return found

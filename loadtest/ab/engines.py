"""``where=engines``: two simulated engines, each a process that lives as long as the comparison."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from engines.client import EngineClient
from engines.egress import EgressRules
from engines.readings import reading
from engines.signals_feed import SignalsFeed
from engines.target import Target
from engines.transport.httptools_stream import HttptoolsTransport
from loadtest.ab.ground import EngineLost, Ground
from loadtest.ab.model import facts_of, fingerprint_of
from loadtest.ab.order import Order
from loadtest.loopwatch import LoopWatch
from schedulers.signals import Signals
from simulator import profile as profiles

MODEL = "simulated"
_START_WITHIN = 20.0
_END_WITHIN = 3.0


@asynccontextmanager
async def engines_ground(order: Order) -> AsyncIterator[Ground]:
    """Both are started, answer, and are ended whatever happens."""
    profile = profiles.load(order.profile)
    fingerprint = fingerprint_of(order.profile, profile)
    async with AsyncExitStack() as stack:
        seed = order.plan.seed % 2**31
        started = await asyncio.gather(
            *(
                stack.enter_async_context(engine_process(order.profile, seed=seed))
                for _ in ("P", "Q")
            )
        )
        processes = dict(zip(("P", "Q"), started, strict=True))
        clients = {
            lane: await stack.enter_async_context(client_of(Target(one.url, MODEL, "simulated")))
            for lane, one in processes.items()
        }

        signals = {
            lane: await stack.enter_async_context(signals_of(Target(one.url, MODEL, "simulated")))
            for lane, one in processes.items()
        }

        def lost() -> str:
            return "; ".join(
                f"the engine of lane {lane} ended with code {one.process.returncode}"
                for lane, one in processes.items()
                if one.process.returncode is not None
            )

        yield Ground(
            clients=clients,
            signals=signals,
            engines=dict.fromkeys(processes, fingerprint),
            clock=time.monotonic,
            lost=lost,
            stalls=stack.enter_context(LoopWatch.watching(time.monotonic)).stalls,
            model=facts_of(order.profile, profile),
        )


@asynccontextmanager
async def client_of(
    target: Target, rules: EgressRules | None = None
) -> AsyncIterator[EngineClient]:
    """A client with connections of its own; EgressDenied where the target may not be called."""
    transport = HttptoolsTransport(rules or EgressRules.loopback())
    client = EngineClient(target, transport, time.monotonic)
    try:
        await client.prepare()
        yield client
    finally:
        await transport.close()


@asynccontextmanager
async def signals_of(
    target: Target, rules: EgressRules | None = None
) -> AsyncIterator[Callable[[], Signals | None]]:
    """The engine's last reading, polled beside the load."""
    feed = SignalsFeed(target, rules or EgressRules.loopback(), clock=time.monotonic)
    polling = asyncio.ensure_future(feed.run())
    try:
        yield lambda: reading(feed, float)
    finally:
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)


@dataclass(frozen=True)
class EngineProcess:
    """A simulated engine that listens."""

    process: asyncio.subprocess.Process
    url: str


@asynccontextmanager
async def engine_process(
    profile: str, *, seed: int, options: Sequence[str] = ()
) -> AsyncIterator[EngineProcess]:
    """``python -m simulator`` on a free port of loopback. EngineLost where it does not come up.

    Its stdin is a pipe that only we hold: it ends with us, however we end.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "simulator", "--profile", profile, "--seed", str(seed)),
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield EngineProcess(process, f"http://127.0.0.1:{await _port(process)}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_END_WITHIN):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _port(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None  # noqa: S101 - asked for above
    try:
        async with asyncio.timeout(_START_WITHIN):
            line = await process.stdout.readline()
        return int(json.loads(line)["port"])
    except (TimeoutError, ValueError, KeyError, TypeError):
        why = f"did not say within {_START_WITHIN:g} s where it listens"
        raise EngineLost(f"a simulated engine {why}") from None

"""What the gateway costs: CPU a request and a chunk, and the time it adds to the first token.

    python -m benchmarks.gateway_cost [--concurrency 64] [--rate 20] [--rounds 5]

The simulated engine (a step of 5 ms, so 64 tokens take about 0.4 s, one event a write), the gateway
and the client are three processes. Keys, an SLO, a policy, token counts and metrics are on. First a
closed loop through the gateway: its CPU time is its own process's, so other load makes the run
longer and not the figure larger. Then a Poisson load, direct and through the gateway in turns, so
that both meet the same machine; the added time is the median over the rounds. Another upstream may
be given with --upstream, such as a server on another core.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

from benchmarks.engine_server import PROFILE, RUN, cpu_seconds
from engines.client import Answer, EngineClient
from engines.egress import EgressRules
from engines.request import CompletionRequest, Timeouts
from engines.target import Target
from engines.transport.httptools_stream import HttptoolsTransport
from schedulers.document import Policy

KEY = "sk-benchmark"
STEP = "5.0"
PROMPT = "word " * 128


@contextmanager
def process(*command: str) -> Iterator[tuple[int, str]]:
    """A server of ours: its process id and its URL."""
    with subprocess.Popen(list(command), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            yield server.pid, next(word for word in said.split() if word.startswith("http://"))
        finally:
            server.terminate()


def configuration(upstream: str, model: str) -> dict[str, Any]:
    policy = Policy.parse(
        {
            "apiVersion": "headway/v1",
            "kind": "Policy",
            "metadata": {"name": "benchmark"},
            "spec": {"concurrency": {"law": "aimd", "initial": 4096, "max": 4096}},
        }
    )
    slo = {
        "apiVersion": "headway/v1",
        "kind": "SLO",
        "metadata": {"name": "benchmark"},
        "spec": {
            "target": 0.99,
            "objectives": [{"metric": "ttft_ms", "max": 800}, {"metric": "tpot_ms", "max": 100}],
        },
    }
    return {
        "apiVersion": "headway/v1",
        "kind": "GatewayConfig",
        "gateway": "benchmark",
        "revision": 1,
        "lanes": [
            {"name": "p", "endpoints": [{"name": "e", "base_url": upstream, "model": model}]}
        ],
        "tenants": [{"name": "one", "keys": [hashlib.sha256(KEY.encode()).hexdigest()]}],
        "slo": slo,
        "policies": [{"sha256": policy.sha256, "document": policy.to_document()}],
        "active": policy.sha256,
    }


class Load:
    """One way to the engine, over connections of its own."""

    def __init__(self, url: str, model: str, tokens: int) -> None:
        self._transport = HttptoolsTransport(EgressRules.open())
        self._client = EngineClient(Target(url, model, api_key=KEY), self._transport)
        self._request = CompletionRequest(PROMPT, tokens, extra={"ignore_eos": True})

    async def one(self) -> Answer:
        return await self._client.complete(self._request, Timeouts())

    async def closed(self, requests: int, concurrency: int) -> list[Answer]:
        """So many requests, so many at a time."""
        left = iter(range(requests))

        async def slot() -> list[Answer]:
            return [await self.one() for _ in left]

        return [
            a for done in await asyncio.gather(*(slot() for _ in range(concurrency))) for a in done
        ]

    async def poisson(self, requests: int, rate: float, rng: np.random.Generator) -> list[float]:
        """Times to the first token, from the intended start, in ms."""
        loop = asyncio.get_running_loop()
        arrivals = loop.time() + np.cumsum(rng.exponential(1 / rate, requests))

        async def at(moment: float) -> float:
            await asyncio.sleep(max(0.0, moment - loop.time()))
            answer = await self.one()
            assert answer.outcome.success, answer
            assert answer.first_token_at is not None
            return (answer.first_token_at - moment) * 1e3

        return list(await asyncio.gather(*(at(float(moment)) for moment in arrivals)))

    async def close(self) -> None:
        await self._transport.close()


async def cpu(load: Load, args: argparse.Namespace, spent: Callable[[], float]) -> None:
    await load.closed(args.concurrency, args.concurrency)  # connections, caches
    began = spent()
    answers = await load.closed(args.requests, args.concurrency)
    used = spent() - began
    chunks = sum(answer.chunks for answer in answers)
    print(f"outcomes              {dict(Counter(str(answer.outcome) for answer in answers))}")
    print(f"CPU per request       {used / len(answers) * 1e3:.2f} ms of {args.tokens} tokens")
    print(f"CPU per chunk         {used / chunks * 1e6:.1f} µs")
    print(f"requests per CPU-s    {len(answers) / used:,.0f} at {args.concurrency} concurrent")


async def latency(direct: Load, through: Load, args: argparse.Namespace) -> None:
    rng = np.random.default_rng(args.seed)
    added: dict[int, list[float]] = {50: [], 99: []}
    for number in range(args.rounds):
        seed = int(rng.integers(2**31))
        times = {}
        for name, load in (("direct", direct), ("gateway", through)):
            draw = np.random.default_rng(seed)
            times[name] = await load.poisson(args.per_round, args.rate, draw)
        row = []
        for percent, found in added.items():
            one, two = (float(np.percentile(times[name], percent)) for name in times)
            found.append(two - one)
            row.append(f"p{percent} {one:.2f} / {two:.2f}")
        print(f"round {number + 1}               direct / gateway, ms: {', '.join(row)}")
    for percent, found in added.items():
        middle = statistics.median(found)
        print(f"added TTFT p{percent}        {middle:+.2f} ms, median of {args.rounds} rounds")


def peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


async def measure(upstream: str, gateway: tuple[int, str], args: argparse.Namespace) -> None:
    direct = Load(upstream, args.model, args.tokens)
    through = Load(gateway[1], args.model, args.tokens)
    await cpu(through, args, lambda: cpu_seconds(gateway[0]))
    await direct.closed(4, 4)
    await latency(direct, through, args)
    await direct.close()
    await through.close()
    print(f"memory at its peak    {peak_mib(gateway[0]):.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upstream", help="another engine than the simulated one")
    parser.add_argument("--model", default="simulated")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--per-round", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        upstream = args.upstream
        if upstream is None:
            profile = Path(folder) / "profile.yaml"
            profile.write_text(PROFILE.replace("t0_ms: 50.0", f"t0_ms: {STEP}"))
            command = (sys.executable, "-c", RUN, "--port", "0", "--profile", str(profile))
            upstream = stack.enter_context(process(*command))[1]
        document = Path(folder) / "gateway.json"
        document.write_text(json.dumps(configuration(upstream, args.model)))
        given = ("--port", "0", "--config", str(document))
        gateway = stack.enter_context(process(sys.executable, "-m", "headway", "gateway", *given))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(measure(upstream, gateway, args))


if __name__ == "__main__":
    main()

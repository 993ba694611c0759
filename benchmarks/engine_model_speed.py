"""How many times real time the engine model runs, and what the cost grows with.

    python -m benchmarks.engine_model_speed [AZURE [MOONCAKE]]

With an Azure 2023 conversation trace: the hour, through one engine with prefix cache, chunked
prefill and preemption on, and again with memory so short that it preempts. Without: a Poisson load
of the same size. A Mooncake conversation trace likewise: one request in four, and all of them,
which is more than one engine can do. Then the exponent of the cost when requests, answers' length,
batch or KV memory are four times as much, all else equal. CPU time of this process, the best of
three; a fixed loop of plain Python is timed beside, so that two machines can be compared.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from loadtest.traces.base import read_trace
from loadtest.traces.contents import content_of
from simulator import profile
from simulator.core.config import EngineConfig
from simulator.core.hooks import Hooks
from simulator.virtual import Arrival, Served, replay

PROFILE = "llama3-8b-a100-tp1"
BAR = 3_000
GROWTH_BAR = 1.5
ROUNDS = 3
HOOKS = Hooks(token_budget=lambda load: 2048 - load.decoding // 2)
"""A law of batching in place, asked in every step that holds a prefill."""


def main(argv: list[str]) -> int:
    config = profile.load(PROFILE).config(max_model_len=16_384)
    print(f"a loop of 10⁶ additions: {1e3 * best(plain)[0]:.0f} ms")
    load = traced(Path(argv[0])) if argv else poisson(19_366, 3_480.0)
    rate = report("the hour, everything on", load, config)
    report("memory of a quarter, so that it preempts", load, shrunk(config))
    if len(argv) > 1:
        conversation = traced(Path(argv[1]))
        mooncake = profile.load(PROFILE).config(max_model_len=131_072)
        report("one in four of a conversation trace", conversation[::4], mooncake)
        report("the whole conversation trace", conversation, mooncake)
    grown = growth()
    return 0 if rate >= BAR and grown <= GROWTH_BAR else 1


def growth() -> float:
    """Print the exponents: 0 is no growth, 1 growth in step.

    Returns how many times as long answers of ten times the length take.
    """
    held = profile.load(PROFILE)

    def engine(blocks: int, max_seqs: int) -> EngineConfig:
        return held.config(blocks=blocks, max_seqs=max_seqs, max_model_len=32_768)

    def cost(load: list[Arrival], config: EngineConfig) -> float:
        return best(lambda: replay(load, config))[0]

    roomy, load, crowd = engine(3_000_000, 2048), poisson(5_000, 2_500.0), poisson(5_000, 50.0)
    once = cost(load, roomy)
    rows = {
        "requests, at one rate": (once, cost(poisson(20_000, 10_000.0), roomy)),
        "answers' length": (once, cost([longer(each, 4) for each in load], roomy)),
        "batch, 64 and 256 at a time": tuple(
            cost(crowd, engine(3_000_000, seqs)) for seqs in (64, 256)
        ),
        "KV blocks, 8,000 and 32,000": tuple(
            cost(crowd, engine(blocks, 2048)) for blocks in (8_000, 32_000)
        ),
    }
    print("exponent of the cost at four times as much")
    for what, (small, large) in rows.items():
        print(f"  {what:<30} {math.log(large / small, 4):.2f}")
    long = cost([longer(each, 10) for each in load], roomy)
    print(f"answers ten times as long: {long / once:.2f} × the time (bar {GROWTH_BAR})")
    return long / once


def report(what: str, load: list[Arrival], config: EngineConfig) -> float:
    """Print one line; times real time."""
    cpu, served = best(lambda: replay(load, config, hooks=HOOKS))
    span = max(each.last_token_at or 0.0 for each in served)
    print(
        f"{what}: {len(load):,} requests, {span:,.0f} s in {cpu:.2f} s CPU = {span / cpu:,.0f} × "
        f"real time (bar {BAR:,}), {len(load) / cpu:,.0f} requests/s, "
        f"{sum(each.preemptions for each in served):,} preemptions"
    )
    return span / cpu


def best(run: Callable[[], list[Served]]) -> tuple[float, list[Served]]:
    """CPU seconds of the quickest round, and what it gave."""
    found: list[Served] = []
    costs = []
    for _ in range(ROUNDS):
        began = time.process_time()
        found = run()
        costs.append(time.process_time() - began)
    return min(costs), found


def plain() -> list[Served]:
    total = 0
    for number in range(1_000_000):
        total += number
    return []


def traced(path: Path) -> list[Arrival]:
    return [
        Arrival(each.at, each.prompt_tokens, each.output_tokens, content=content_of(each, place))
        for place, each in enumerate(read_trace(path))
    ]


def poisson(count: int, span: float) -> list[Arrival]:
    draw = np.random.default_rng(1)
    times = np.cumsum(draw.exponential(span / count, count)).tolist()
    prompts = np.clip(draw.lognormal(6.6, 0.9, count), 8, 8_000).astype(int).tolist()
    outputs = np.clip(draw.lognormal(5.0, 0.9, count), 4, 1_000).astype(int).tolist()
    return [Arrival(*each) for each in zip(times, prompts, outputs, strict=True)]


def longer(arrival: Arrival, times: int) -> Arrival:
    return Arrival(arrival.at, arrival.prompt_tokens, times * arrival.output_tokens)


def shrunk(config: EngineConfig) -> EngineConfig:
    return EngineConfig(
        cost=config.cost,
        blocks=config.blocks // 4,
        token_budget=config.token_budget,
        max_seqs=config.max_seqs,
        max_model_len=config.max_model_len,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How many times real time the engine model runs, and what the cost grows with.

    python -m benchmarks.engine_model_speed [TRACE]

With an Azure 2023 conversation trace: the hour, through one engine with prefix cache, chunked
prefill and preemption on, and again with memory so short that it preempts. Without: a Poisson load
of the same size. Then the same requests with answers ten times as long. CPU time of this process,
the best of three; a fixed loop of plain Python is timed beside, so that two machines can be
compared.
"""

from __future__ import annotations

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
    roomy = profile.load(PROFILE).config(blocks=3_000_000, max_seqs=2048, max_model_len=32_768)
    load = poisson(5_000, 2_500.0)
    short, _ = best(lambda: replay(load, roomy))
    long, _ = best(lambda: replay([longer(each) for each in load], roomy))
    print(f"answers ten times as long: {long / short:.2f} × the time (bar {GROWTH_BAR})")
    return 0 if rate >= BAR and long / short <= GROWTH_BAR else 1


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


def longer(arrival: Arrival) -> Arrival:
    return Arrival(arrival.at, arrival.prompt_tokens, 10 * arrival.output_tokens)


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

"""A closed loop of equal requests through an engine: what published sweeps measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.core.config import EngineConfig
from simulator.core.engine import Engine
from simulator.core.request import Request, Sequence


@dataclass(frozen=True, slots=True)
class Measured:
    """Means over the requests, in milliseconds."""

    ttft_ms: float
    tpot_ms: float


def play(
    config: EngineConfig, *, prompt_tokens: int, output_tokens: int, concurrency: int, rounds: int
) -> Measured:
    """``rounds`` requests for each of so many users, who ask again as soon as they are answered.

    All begin at once, as load generators do; every prompt is unlike all others.
    """
    engine = Engine(config, seed=1)
    asked, total = 0, concurrency * rounds
    done: list[Sequence] = []

    def ask(at: float) -> None:
        nonlocal asked
        if asked < total:
            engine.add(Request(str(asked), prompt_tokens, output_tokens), at)
            asked += 1

    for _ in range(concurrency):
        ask(0.0)
    while (due := engine.next_step_at()) is not None:
        finished = engine.advance(due).finished
        done += finished
        for _ in finished:
            ask(engine.free_at)
    return _means(done)


def _means(done: list[Sequence]) -> Measured:
    ttfts, tpots = [], []
    for sequence in done:
        first, last = sequence.first_token_at, sequence.last_token_at
        if first is None or last is None:
            continue
        ttfts.append(first - sequence.arrived_at)
        tpots.append((last - first) / (sequence.emitted - 1))
    return Measured(1e3 * float(np.mean(ttfts)), 1e3 * float(np.mean(tpots)))

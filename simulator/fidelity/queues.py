"""With one server and steps of one length the engine is a queue whose mean wait is known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simulator.core.config import EngineConfig
from simulator.core.cost import StepCost
from simulator.fidelity.check import Check
from simulator.virtual import Arrival, replay

STEP = 0.01
BAR = 0.02
ONE_SERVER = EngineConfig(
    cost=StepCost(t0_ms=STEP * 1e3, t_w_ms=0.0, t_c_ms=0.0, t_kv_ms=0.0, t_s_ms=0.0, t_a_ms=0.0),
    blocks=101,
    block_size=4,
    token_budget=64,
    max_seqs=1,
    max_model_len=100,
    ingest_s=0.0,
)


def mean_wait(rate: float, lengths: np.ndarray, *, seed: int) -> float:
    """Seconds from arrival to the first step, for answers of so many steps."""
    gaps = np.random.default_rng(seed).exponential(1.0, len(lengths))
    # The mean gap is exactly what the theory is asked about.
    times = np.cumsum(gaps / gaps.mean() / rate)
    load = [
        Arrival(at, 1, length) for at, length in zip(times.tolist(), lengths.tolist(), strict=True)
    ]
    waits = [
        each.scheduled_at - each.arrived_at
        for each in replay(load, ONE_SERVER)
        if each.scheduled_at is not None
    ]
    return float(np.mean(waits))


def queue_checks(requests: int = 100_000) -> Iterator[Check]:
    """M/D/1 at two loads, and M/G/1 with answers of two lengths (Pollaczek–Khinchine)."""
    ones = np.ones(requests, dtype=int)
    for load in (0.3, 0.6):
        expected = load * STEP / (2 * (1 - load))
        error = abs(mean_wait(load / STEP, ones, seed=5) / expected - 1)
        yield Check(f"mean wait of M/D/1, load {load:g}", "theory", error, BAR)
    lengths = np.random.default_rng(1).choice([1, 5], requests)
    rate = 0.5 / (3 * STEP)
    busy = rate * float(np.mean(lengths)) * STEP
    expected = rate * float(np.mean((lengths * STEP) ** 2)) / (2 * (1 - busy))
    error = abs(mean_wait(rate, lengths, seed=7) / expected - 1)
    yield Check("mean wait of M/G/1, load 0.5", "theory", error, BAR)

"""With one server and steps of one length the engine is a queue whose mean wait is known."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.core.cost import StepCost
from simulator.virtual import Arrival, Served, replay
from tests.simulator.core.engines import config

STEP = 0.01
ONE_SERVER = config(
    cost=StepCost(t0_ms=STEP * 1e3, t_w_ms=0.0, t_c_ms=0.0, t_kv_ms=0.0, t_s_ms=0.0, t_a_ms=0.0),
    max_seqs=1,
)
REQUESTS = 100_000


def mean_wait(served: list[Served]) -> float:
    waits = [
        each.scheduled_at - each.arrived_at for each in served if each.scheduled_at is not None
    ]
    assert len(waits) == REQUESTS
    return float(np.mean(waits))


def poisson(rate: float, seed: int) -> np.ndarray:
    """Arrival times whose mean gap is exactly what the theory is asked about."""
    gaps = np.random.default_rng(seed).exponential(1.0, REQUESTS)
    return np.cumsum(gaps / gaps.mean() / rate)


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_one_step_answers_wait_as_in_an_m_d_1_queue(load: float) -> None:
    times = poisson(load / STEP, seed=5)
    served = replay([Arrival(float(at), 1, 1) for at in times], ONE_SERVER)
    assert mean_wait(served) == pytest.approx(load * STEP / (2 * (1 - load)), rel=0.02)


def test_answers_of_two_lengths_wait_as_in_an_m_g_1_queue() -> None:
    lengths = np.random.default_rng(1).choice([1, 5], REQUESTS)
    rate = 0.5 / (3 * STEP)
    arrivals = [
        Arrival(float(at), 1, int(length))
        for at, length in zip(poisson(rate, seed=7), lengths, strict=True)
    ]
    second_moment = float(np.mean((lengths * STEP) ** 2))
    busy = rate * float(np.mean(lengths)) * STEP
    wait = rate * second_moment / (2 * (1 - busy))
    assert mean_wait(replay(arrivals, ONE_SERVER)) == pytest.approx(wait, rel=0.02)

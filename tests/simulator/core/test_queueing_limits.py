"""With one server and steps of one length the engine is a queue whose waits are known."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.fidelity.queues import ONE_SERVER, STEP, queue_checks
from simulator.virtual import Arrival, replay


def test_each_wait_is_that_of_lindleys_recursion() -> None:
    """W' = max(0, W + S − gap), for answers of 1 to 6 steps at load 0.9."""
    draw = np.random.default_rng(3)
    lengths = draw.integers(1, 7, 2_000)
    times = np.cumsum(draw.exponential(float(lengths.mean()) * STEP / 0.9, 2_000))
    expected = [0.0]
    for place in range(1, 2_000):
        gap = times[place] - times[place - 1]
        expected.append(max(0.0, expected[-1] + float(lengths[place - 1]) * STEP - gap))
    load = [Arrival(float(at), 1, int(steps)) for at, steps in zip(times, lengths, strict=True)]
    waits = [(each.scheduled_at or 0.0) - each.arrived_at for each in replay(load, ONE_SERVER)]
    assert waits == pytest.approx(expected, abs=1e-9)


def test_the_mean_wait_is_near_theory_with_few_requests_and_nearer_with_more() -> None:
    """``headway fidelity`` holds 100,000 of them to 2 %."""
    few = [check.error for check in queue_checks(6_000)]
    assert len(few) == 3
    assert max(few) < 0.12

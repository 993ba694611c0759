"""The model against a trace: what a prefix cache could find, and a log of a real engine."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from loadtest.traces import fidelity
from loadtest.traces.base import Traced
from simulator.virtual import replay


def made(requests: int) -> list[Traced]:
    """Sessions whose turns repeat the last and add to it; names stand for all before them."""
    draw = np.random.default_rng(2)
    sessions = [[0] for _ in range(9)]
    found, fresh = [], 1
    for place in range(requests):
        names = sessions[int(draw.integers(len(sessions)))]
        more = int(draw.integers(1, 4))
        names.extend(range(fresh, fresh + more))
        fresh += more
        tokens = 8 * (len(names) - 1) + int(draw.integers(1, 9))
        found.append(Traced(float(place), tokens, 3, tuple(names), 8))
        if tokens % 8:  # the last one was not whole: the next turn has another in its place
            names.pop()
    return found


def test_a_cache_without_end_finds_what_a_count_of_names_finds() -> None:
    trace = made(300)
    served = replay(fidelity.alone(trace), fidelity.boundless(trace))
    found = sum(each.cached_tokens for each in served)
    assert found == fidelity.brute_force(trace) > 10_000


@pytest.mark.traces
@pytest.mark.skipif("HEADWAY_TRACES" not in os.environ, reason="HEADWAY_TRACES names no folder")
def test_the_public_traces_meet_the_bars() -> None:
    folder = Path(os.environ["HEADWAY_TRACES"])
    checks = [
        *fidelity.log_checks(folder),
        *fidelity.series_checks(folder),
        fidelity.prefix_check(folder),
    ]
    assert len(checks) == 9
    assert [check.name for check in checks if not check.met] == []

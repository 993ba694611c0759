"""Why arms must not share an engine: a queue in which the worse policy hides.

The candidate's limit is too low: with all of the traffic its queue grows without end. Given half
of the traffic of one engine beside the baseline it keeps up, so the arms look alike, and a test
of any kind would pass what ruins nearly every request when it is alone.
"""

from __future__ import annotations

import numpy as np

from measurement.comparison.trials import Array, Runs

RATE = 20.0
"""Requests a second of the whole traffic."""
BASELINE_SERVES, CANDIDATE_SERVES = 32.0, 16.0
"""Requests a second that each limit lets through."""
LIMIT = 5.4
"""Seconds that a request may take: waiting for the limit, then on the engine."""
ENGINE = LIMIT / 3.689
"""Mean seconds on the engine; exponential, so 2.5 % are over the limit without any wait."""
SLOT = 6.0


def shared(runs: int, blocks: int, rng: np.random.Generator) -> Runs:
    """Both arms on one engine, half of its traffic each; the truth is what each does alone."""
    half = RATE / 2
    alone = (
        _bad(RATE, BASELINE_SERVES, (20, blocks), rng),
        _bad(RATE, CANDIDATE_SERVES, (20, blocks), rng),
    )
    gap = _rate(alone[1]) - _rate(alone[0])
    (n_a, bad_a), (n_b, bad_b) = (
        _bad(half, serves, (runs, blocks), rng) for serves in (BASELINE_SERVES, CANDIDATE_SERVES)
    )
    return Runs(n_a, bad_a, n_b, bad_b, np.full((runs, blocks), gap))


def apart(runs: int, blocks: int, rng: np.random.Generator) -> Runs:
    """Each arm on an engine of its own, with as much traffic as it would have."""
    (n_a, bad_a), (n_b, bad_b) = (
        _bad(RATE, serves, (runs, blocks), rng) for serves in (BASELINE_SERVES, CANDIDATE_SERVES)
    )
    truth = np.full((runs, blocks), _rate((n_b, bad_b)) - _rate((n_a, bad_a)))
    return Runs(n_a, bad_a, n_b, bad_b, truth)


def _rate(counts: tuple[Array, Array]) -> float:
    return float(counts[1].sum() / counts[0].sum())


def _bad(
    rate: float, serves: float, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Requests and bad ones of each block, of a queue that is let through one by one (Lindley)."""
    runs, blocks = shape
    size = max(1, round(rate * SLOT))
    bad = np.empty(shape)
    wait = np.zeros(runs)
    for block in range(blocks):
        gaps = rng.exponential(1 / rate, (size, runs))
        on_engine = rng.exponential(ENGINE, (size, runs))
        late = np.zeros(runs)
        for gap, seconds in zip(gaps, on_engine, strict=True):
            wait = np.maximum(0.0, wait - gap)
            late += wait + seconds > LIMIT
            wait += 1 / serves
        bad[:, block] = late
    return np.full(shape, float(size)), bad

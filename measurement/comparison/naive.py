"""Tests that are used and wrong here, kept so that the harness is seen to catch them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from measurement.comparison.confidence_sequence import LEAST_BLOCKS, running
from measurement.comparison.trials import Runs

Flags = NDArray[np.bool_]


def request_z(runs: Runs, alpha: float) -> Flags:
    """A two-proportion z-test on all requests so far, looked at after every block."""
    n_a, bad_a, n_b, bad_b = (
        np.cumsum(counts, axis=1)
        for counts in (
            runs.baseline_n,
            runs.baseline_bad,
            runs.candidate_n,
            runs.candidate_bad,
        )
    )
    pooled = (bad_a + bad_b) / (n_a + n_b)
    error = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * (1 / n_a + 1 / n_b))
    return _looked((bad_b / n_b - bad_a / n_a) / error, alpha)


def paired_z(runs: Runs, alpha: float) -> Flags:
    """A paired test on the blocks' differences, looked at after every block."""
    run = running(runs.differences)
    return _looked(run.mean / np.sqrt(np.maximum(run.variance, 1e-12) / run.k), alpha)


def _looked(z: NDArray[np.float64], alpha: float) -> Flags:
    called = z > NormalDist().inv_cdf(1 - alpha)
    called[:, : LEAST_BLOCKS - 1] = False
    return called

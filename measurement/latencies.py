"""Percentiles of every latency of a part of a run, in ms, from both clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from measurement.quantiles import Interval, Quantiles, batch_means_interval
from measurement.sample import Sample

OF_SUCCESSES: Mapping[str, Callable[[Sample], float | None]] = {
    "ttft_ms": lambda s: s.ttft,
    "service_ttft_ms": lambda s: s.service_ttft,
    "ttfat_ms": lambda s: s.ttfat,
    "tpot_ms": lambda s: s.tpot,
    "e2e_ms": lambda s: s.e2e,
    "service_e2e_ms": lambda s: s.service_e2e,
    "normalised_ms": lambda s: s.normalised_latency,
    "longest_gap_ms": lambda s: s.longest_gap,
}
"""Latencies of successes: one value a request."""

OF_ALL: Mapping[str, Callable[[Sample], float | None]] = {
    "send_lag_ms": lambda s: s.send_lag,
    "client_lag_ms": lambda s: s.client_lag,
    "hold_ms": lambda s: s.hold,
}
"""Delays before the send: of every request that got so far."""

WITH_INTERVALS = ("ttft_ms", "tpot_ms", "e2e_ms")

NAMES = (*OF_SUCCESSES, "itl_ms", *OF_ALL)


def quantiles(samples: Sequence[Sample]) -> dict[str, Quantiles]:
    """By name, in ms. ``itl_ms`` pools the gaps of all successes, token-weighted where known."""
    successes = [sample for sample in samples if sample.outcome.success]
    found = {
        name: Quantiles.of(_values(part, of), scale=1e3)
        for part, table in ((successes, OF_SUCCESSES), (samples, OF_ALL))
        for name, of in table.items()
    }
    found["itl_ms"] = _pooled_gaps(successes)
    return {name: found[name] for name in NAMES}


def intervals(samples: Sequence[Sample]) -> dict[str, dict[str, Interval]]:
    """Batch-means intervals of P50, P95 and P99, in ms; samples in order of intended start."""
    successes = [sample for sample in samples if sample.outcome.success]
    found = {}
    for name in WITH_INTERVALS:
        values = 1e3 * np.array(_values(successes, OF_SUCCESSES[name]), dtype=np.float64)
        found[name] = {f"p{p}": batch_means_interval(values, p) for p in (50, 95, 99)}
    return found


def itl_kind(samples: Sequence[Sample]) -> str | None:
    """``itl`` when every gap says how many tokens it led to, else ``icl``: between chunks."""
    gapped = [sample for sample in samples if sample.outcome.success and sample.gaps]
    if not gapped:
        return None
    return "itl" if all(sample.gap_tokens is not None for sample in gapped) else "icl"


def _values(samples: Sequence[Sample], of: Callable[[Sample], float | None]) -> list[float]:
    return [value for value in map(of, samples) if value is not None]


def _pooled_gaps(samples: Sequence[Sample]) -> Quantiles:
    gapped = [sample for sample in samples if sample.gaps]
    if not gapped:
        return Quantiles()
    if all(sample.gap_tokens is None for sample in gapped):
        pooled = chain.from_iterable(sample.gaps for sample in gapped)
        return Quantiles.of(np.fromiter(pooled, dtype=np.float64), scale=1e3)
    gaps = np.concatenate([sample.token_gaps for sample in gapped])
    weights = np.concatenate([sample.gap_weights for sample in gapped])
    return Quantiles.of(gaps, scale=1e3, weights=weights)

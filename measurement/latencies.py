"""Percentiles of every latency of a part of a run, in ms, from both clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from measurement.column_block import Block, Bools, Floats
from measurement.columns import SampleColumns
from measurement.pooled_gaps import pooled_gaps
from measurement.quantiles import Interval, Quantiles, batch_means_intervals

Latency = Callable[[Block], Floats]

OF_SUCCESSES: Mapping[str, Latency] = {
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

OF_ALL: Mapping[str, Latency] = {
    "send_lag_ms": lambda s: s.send_lag,
    "client_lag_ms": lambda s: s.client_lag,
    "hold_ms": lambda s: s.hold,
}
"""Delays before the send: of every request that got so far."""

WITH_INTERVALS = ("ttft_ms", "tpot_ms", "e2e_ms")

NAMES = (*OF_SUCCESSES, "itl_ms", *OF_ALL)


def quantiles(columns: SampleColumns) -> dict[str, Quantiles]:
    """By name, in ms. ``itl_ms`` pools the gaps of all successes, token-weighted where known."""
    found = {
        **{name: of_successes(columns, of) for name, of in OF_SUCCESSES.items()},
        **{name: Quantiles.of(columns.known(of), scale=1e3) for name, of in OF_ALL.items()},
        "itl_ms": pooled_gaps(columns),
    }
    return {name: found[name] for name in NAMES}


def of_successes(columns: SampleColumns, of: Latency) -> Quantiles:
    """The percentiles of one latency of the successes, in ms."""
    return Quantiles.of(columns.known(only_successes(of)), scale=1e3)


def only_successes(of: Latency) -> Latency:
    """The same, with no value for what failed."""
    return lambda block: np.where(block.success, of(block), np.nan)


def intervals(columns: SampleColumns) -> dict[str, dict[str, Interval]]:
    """Batch-means intervals of P50, P95 and P99, in ms."""
    found = {}
    for name in WITH_INTERVALS:
        values = columns.known(only_successes(OF_SUCCESSES[name]))
        values *= 1e3
        percents = (50, 95, 99)
        rows = zip(percents, batch_means_intervals(values, percents), strict=True)
        found[name] = {f"p{percent}": row for percent, row in rows}
    return found


def itl_kind(columns: SampleColumns) -> str | None:
    """``itl`` when every gap says how many tokens it led to, else ``icl``: between chunks."""
    gapped = columns.count(lambda b: b.success & (b.gap_count > 0))
    if not gapped:
        return None
    return "itl" if gapped == columns.count(_told) else "icl"


def _told(block: Block) -> Bools:
    return block.success & (block.gap_count > 0) & block.told

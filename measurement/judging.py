"""Samples judged by an SLO, many at once: what ``slo.judge`` says of one, for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measurement.column_block import Block, Bools, Floats
from measurement.outcome import Outcome
from measurement.slo import Slo

Of = Callable[[Block], Floats]

_NEAR = 1e-5
"""Milliseconds from a limit within which the rounding to a nanosecond may decide."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Of each request of a block; a metric that is not there says nothing of any."""

    met: Bools
    excluded: Bools
    missed: Mapping[str, Bools]
    unmeasured: Mapping[str, Bools]


def judge_block(block: Block, tenants: Sequence[str], slo: Slo | None) -> Judged:
    """Without an SLO every success is good, and a cancel is excluded."""
    cancelled = block.became(Outcome.CANCELLED)
    if slo is None:
        return Judged(block.success, cancelled, {}, {})
    missed: dict[str, Bools] = {}
    unmeasured: dict[str, Bools] = {}
    for rows, maxima in _by_limits(block, tenants, slo):
        part = block.where(rows)
        for metric, limit in maxima.items():
            broken, unknown = missed_of(part, metric, limit)
            missed.setdefault(metric, np.zeros(block.size, np.bool_))[rows] = broken
            unmeasured.setdefault(metric, np.zeros(block.size, np.bool_))[rows] = unknown
    any_missed = np.zeros(block.size, np.bool_)
    for metric, rows in missed.items():
        any_missed |= rows
        unmeasured[metric] &= ~cancelled
    return Judged(~any_missed & ~cancelled, cancelled & ~any_missed, missed, unmeasured)


def missed_of(block: Block, metric: str, limit: float) -> tuple[Bools, Bools]:
    """Of each, whether it breaks the limit, and whether nothing can be said of it."""
    of, so_far = _METRICS[metric]
    cancelled = block.became(Outcome.CANCELLED)
    failed = ~block.success & ~cancelled
    value = np.where(cancelled, so_far(block), of(block))
    return failed | _over(value, limit), np.isnan(value) & ~failed


def value_of(block: Block, metric: str) -> Floats:
    """The metric of each, as it would be of a success, in the metric's unit."""
    return _METRICS[metric][0](block)


def _over(values: Floats, limit: float) -> Bools:
    """Whether each, rounded to the nanosecond as a sample's own is, is over the limit."""
    over: Bools = values > limit
    near = np.flatnonzero(np.abs(values - limit) < _NEAR)
    over[near] = [round(value, 6) > limit for value in values[near].tolist()]
    return over


def _by_limits(
    block: Block, tenants: Sequence[str], slo: Slo
) -> Iterator[tuple[Bools, Mapping[str, float]]]:
    """The requests for which the same thresholds hold, with these."""
    length = np.maximum(np.nan_to_num(block.prompt_tokens), 0.0)
    own = [code for code, name in enumerate(tenants) if name in slo.tenants]
    others = ~np.isin(block.tenant, own)
    for name, rows in ((None, others), *((tenants[code], block.tenant == code) for code in own)):
        left = rows
        for row in slo.table(name):
            here = left & (length > row.prompt_tokens_over)
            left = left & ~here
            if here.any():
                yield here, row.maxima


def _ms(of: Of) -> Of:
    return lambda block: of(block) * 1e3


def _waited(of: Of) -> Of:
    """The wait that ended, or the one that was going on when the request was given up."""

    def so_far(block: Block) -> Floats:
        since_start = of(block)
        return np.where(np.isnan(since_start), block.done_at - block.intended_at, since_start) * 1e3

    return so_far


def _never(block: Block) -> NDArray[np.float64]:
    return np.full(block.size, np.nan)


_METRICS: Mapping[str, tuple[Of, Of]] = {
    "ttft_ms": (_ms(lambda b: b.ttft), _waited(lambda b: b.ttft)),
    "ttfat_ms": (_ms(lambda b: b.ttfat), _waited(lambda b: b.ttfat)),
    "tpot_ms": (_ms(lambda b: b.tpot), _never),
    "itl_ms": (_ms(lambda b: b.mean_gap), _never),
    "longest_gap_ms": (_ms(lambda b: b.longest_gap), _ms(lambda b: b.longest_gap)),
    "e2e_ms": (_ms(lambda b: b.e2e), _waited(_never)),
    "error": (lambda b: np.zeros(b.size), _never),
}
"""By metric of an objective: its value for a success, and what it had surely reached for a request
that was given up early. The same as in ``measurement.objectives`` for one sample at a time."""

"""When a request's tokens arrived, so that they count in the part of the run they arrived in."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from measurement.sample import Sample


def tokens_between(samples: Iterable[Sample], start: float, end: float) -> int:
    """How many of the samples' output tokens arrived from ``start`` up to ``end``."""
    return sum(_between(sample, start, end) for sample in samples if sample.output_tokens)


def arrivals(sample: Sample) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Times at which tokens arrived, and how many at each; they sum to the output tokens.

    Where the stream does not say how many tokens a chunk carried, those after the first chunk
    are spread evenly over the others. An answer that was not streamed arrived at its end.
    """
    n = sample.output_tokens or 0
    if sample.first_token_at is None:
        at = sample.done_at if sample.done_at is not None else sample.intended_at
        return np.array([at]), np.array([n])
    times = sample.first_token_at + np.concatenate(([0.0], np.cumsum(sample.gaps)))
    first = min(n, sample.first_chunk_tokens or 1) if sample.gaps else n
    if sample.gap_tokens is not None:
        reached = np.cumsum((first, *sample.gap_tokens))
    else:
        reached = first + (n - first) * np.arange(len(times)) // max(1, len(sample.gaps))
    reached = np.minimum(reached, n)
    reached[-1] = n
    return times, np.diff(reached, prepend=0)


def _between(sample: Sample, start: float, end: float) -> int:
    n = sample.output_tokens or 0
    first, last = sample.first_token_at, sample.last_token_at
    if first is not None and last is not None and start <= first and last < end:
        return n
    times, counts = arrivals(sample)
    return int(counts[(times >= start) & (times < end)].sum())

"""When a request's tokens arrived, so that they count in the part of the run they arrived in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measurement.column_block import Block, Bools, Floats, Ints
from measurement.columns import SampleColumns

_SURE = 1e-3
"""Seconds that no sum of gaps is off by for rounding."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """How one answer came, ``output_tokens`` in all."""

    output_tokens: int
    first_token_at: float
    first_chunk_tokens: int | None
    gaps: Floats
    gap_tokens: Ints | None
    """Tokens that each gap's chunk carried, where the stream says."""


def tokens_between(columns: SampleColumns, start: float, end: float) -> int:
    """How many of the requests' output tokens arrived from ``start`` up to ``end``."""
    return sum(_between(columns, block, start, end) for block in columns.blocks())


def arrivals(answer: Streamed) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Times at which tokens arrived, and how many at each; they sum to the output tokens.

    Where the stream does not say how many tokens a chunk carried, those after the first chunk
    are spread evenly over the others.
    """
    n, gaps = answer.output_tokens, answer.gaps
    times = answer.first_token_at + np.concatenate(([0.0], np.cumsum(gaps)))
    first = min(n, answer.first_chunk_tokens or 1) if len(gaps) else n
    if answer.gap_tokens is not None:
        reached = np.cumsum((first, *answer.gap_tokens))
    else:
        reached = first + (n - first) * np.arange(len(times)) // max(1, len(gaps))
    reached = np.minimum(reached, n)
    reached[-1] = n
    return times, np.diff(reached, prepend=0)


def _between(columns: SampleColumns, block: Block, start: float, end: float) -> int:
    """Only answers across an edge are looked at token by token: few, however long the run."""
    some = np.nan_to_num(block.output_tokens) != 0
    first, last = block.first_token_at, block.last_token_at
    inside = some & (start <= first) & (last < end)
    total = int(block.output_tokens[inside].sum())
    # An answer that was not streamed arrived at its end.
    at = np.where(np.isnan(block.done_at), block.intended_at, block.done_at)
    at_once = some & np.isnan(first) & (start <= at) & (at < end)
    total += int(block.output_tokens[at_once].sum())
    outside = (first >= end) | (first + block.gap_seconds < start - _SURE)
    across = some & ~np.isnan(first) & ~inside & ~outside
    return total + _across(columns, block, across, (start, end))


def _across(columns: SampleColumns, block: Block, which: Bools, part: tuple[float, float]) -> int:
    total = 0
    for place in np.flatnonzero(which).tolist():
        times, counts = arrivals(_streamed(columns, block, place))
        total += int(counts[(times >= part[0]) & (times < part[1])].sum())
    return total


def _streamed(columns: SampleColumns, block: Block, place: int) -> Streamed:
    count, k = int(block.gap_count[place]), block.first_chunk_tokens[place]
    told = bool(block.told[place])
    return Streamed(
        output_tokens=int(block.output_tokens[place]),
        first_token_at=float(block.first_token_at[place]),
        first_chunk_tokens=None if np.isnan(k) else int(k),
        gaps=columns.gaps.gaps(int(block.gap_place[place]), count),
        gap_tokens=columns.gaps.tokens(int(block.told_place[place]), count) if told else None,
    )

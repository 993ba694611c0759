"""Exact percentiles of all gaps between tokens, of which a run has too many to sort in memory.

Floats are ordered as their bits are, once those of the negative ones are turned round. So each
pass over the gaps counts them by sixteen more of their bits, and follows the values that are asked
for; after four passes every bit is known. As many as one piece of the store may hold are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from measurement.column_block import Floats, Ints
from measurement.columns import SampleColumns
from measurement.gap_store import GapPiece
from measurement.quantiles import PERCENTS, Quantiles
from measurement.rank import rank

FEW = 1 << 16
"""As many gaps are sorted at once."""
_BITS = 16
_SIGN = np.uint64(1 << 63)
_LEVELS = range(64 - _BITS, -1, -_BITS)

Keys = NDArray[np.uint64]


def pooled_gaps(columns: SampleColumns) -> Quantiles:
    """Of all gaps of successes, in ms; each weighs as many tokens as it led to, where known."""
    sizes = [(len(weights), int(weights.sum())) for _, weights in _gaps(columns)]
    count, n = sum(size[0] for size in sizes), sum(size[1] for size in sizes)
    if count <= FEW:
        parts = zip(*_gaps(columns), strict=True) if count else ([[]], [[]])
        gaps, weights = map(np.concatenate, parts)
        return Quantiles.of(gaps, scale=1e3, weights=weights)
    places = sorted({*(rank(n, percent) for percent in PERCENTS), n})
    found = dict(zip(places, _values(columns, places), strict=True))
    return Quantiles.ranked(n, found.__getitem__, scale=1e3)


def _gaps(columns: SampleColumns) -> Iterator[tuple[Floats, Ints]]:
    """The gaps that count, and their weights: a gap is shared among the tokens it led to."""
    for piece in columns.gaps.pieces():
        weights = _weights(piece)
        counts = np.repeat(piece.owned_at >= columns.start, piece.counts)
        yield piece.gaps[counts] / weights[counts], weights[counts]


def _weights(piece: GapPiece) -> Ints:
    told = np.repeat(piece.told, piece.counts)
    weights = np.ones(len(piece.gaps), np.int64)
    weights[told] = np.maximum(1, piece.tokens)
    return weights


def _values(columns: SampleColumns, places: Sequence[int]) -> list[float]:
    """The gaps of these 1-based ranks."""
    prefixes = np.zeros(len(places), np.uint64)
    left = np.array(places, np.int64)
    for shift in _LEVELS:
        wanted, which = np.unique(prefixes, return_inverse=True)
        counts = np.zeros((len(wanted), 1 << _BITS), np.int64)
        for gaps, weights in _gaps(columns):
            _count(counts, wanted, shift, (_keys(gaps), weights))
        reached = np.cumsum(counts, axis=1)
        for at, row in enumerate(which):
            digit = int(np.searchsorted(reached[row], left[at]))
            left[at] -= reached[row][digit - 1] if digit else 0
            prefixes[at] = prefixes[at] << np.uint64(_BITS) | np.uint64(digit)
    return _floats(prefixes)


def _count(counts: Ints, wanted: Keys, shift: int, given: tuple[Keys, Ints]) -> None:
    """Add what begins with each of the wanted bits to its row, by the next sixteen."""
    keys, weights = given
    digits = (keys >> np.uint64(shift) & np.uint64((1 << _BITS) - 1)).astype(np.int64)
    for row, prefix in enumerate(wanted):
        if shift == _LEVELS[0]:
            np.add.at(counts[row], digits, weights)
            continue
        here = keys >> np.uint64(shift + _BITS) == prefix
        np.add.at(counts[row], digits[here], weights[here])


def _keys(gaps: Floats) -> Keys:
    """Whole numbers in the order of the floats."""
    bits = (gaps + 0.0).view(np.uint64)  # + 0.0 makes 0 of a negative zero
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _floats(keys: Keys) -> list[float]:
    """What the keys were made of."""
    bits = np.where(keys & _SIGN, keys ^ _SIGN, ~keys)
    found: list[float] = bits.view(np.float64).tolist()
    return found

"""The gaps of a run's answers, in files: a few of each request, or thousands.

They stay in the order in which the samples came. What is pooled over a part of the run is read
piece by piece; a request's own are found by the places that the columns keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from measurement.column import Column, Shelf
from measurement.column_block import Bools, Floats, Ints


class GapPiece(NamedTuple):
    """The gaps of some requests, one after the other."""

    counts: Ints
    """Gaps of each request."""
    owned_at: Floats
    """Intended start of each request; NaN where its gaps count nowhere, as those of a failure."""
    told: Bools
    """By request, whether the stream says how many tokens each gap's chunk carried."""
    gaps: Floats
    """In seconds."""
    tokens: Ints
    """What the streams say, of those that do."""


class GapStore:
    """Takes pieces, and gives them back as they came."""

    def __init__(self, shelf: Shelf) -> None:
        self._counts = Column(np.dtype(np.int64), shelf())
        self._owned_at = Column(np.dtype(np.float64), shelf())
        self._told = Column(np.dtype(np.bool_), shelf())
        self._gaps = Column(np.dtype(np.float64), shelf())
        self._tokens = Column(np.dtype(np.int64), shelf())
        self._ends: list[tuple[int, int, int]] = [(0, 0, 0)]

    @property
    def places(self) -> tuple[int, int]:
        """Where the next gaps will begin, and what is told of them."""
        return self._ends[-1][1:]

    def add(self, piece: GapPiece) -> None:
        """Take a piece."""
        self._counts.add(piece.counts)
        self._owned_at.add(piece.owned_at)
        self._told.add(piece.told)
        self._gaps.add(piece.gaps)
        self._tokens.add(piece.tokens)
        self._ends.append((len(self._counts), len(self._gaps), len(self._tokens)))

    def leave_out(self, gone: Bools) -> None:
        """The gaps of these requests, in the order in which they came, count nowhere."""
        self._owned_at.rewrite(np.where(gone, np.nan, self._owned_at.read()))

    def pieces(self) -> Iterator[GapPiece]:
        """All of them."""
        for start, stop in zip(self._ends, self._ends[1:], strict=False):
            rows, gaps, tokens = zip(start, stop, strict=True)
            yield GapPiece(
                self._counts.read(*rows),
                self._owned_at.read(*rows),
                self._told.read(*rows),
                self._gaps.read(*gaps),
                self._tokens.read(*tokens),
            )

    def gaps(self, place: int, count: int) -> Floats:
        """So many from that place on."""
        return self._gaps.read(place, place + count)

    def tokens(self, place: int, count: int) -> Ints:
        """So many from that place on."""
        return self._tokens.read(place, place + count)

"""A run's samples as columns: what its conclusion is computed from, whatever the run's length.

A column is one number of every request, kept in a file that whoever builds it hands in: in memory
for a few requests, on disk for a million. They are read a block of rows at a time, so that a
conclusion holds as much of a run as one column of it, and not a request in all its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement.column import Column
from measurement.column_block import Block, Floats
from measurement.gap_store import GapStore
from measurement.outcome import Outcome

ROWS = 8192
"""Rows of a block."""


@dataclass(frozen=True, slots=True)
class First:
    """The first request of those with one outcome, by its place in the schedule.

    One that says why goes before those that don't.
    """

    index: int
    error: str


@dataclass(frozen=True)
class SampleColumns:
    """Requests in order of intended start, then of index.

    ``since`` gives what is left when a start is cut; it reads the same files.
    """

    tenants: tuple[str, ...]
    firsts: Mapping[Outcome, First]
    """By outcome, of all the run."""
    kept: Mapping[str, Column]
    gaps: GapStore
    first_row: int = 0
    start: float = -np.inf
    """The least intended start that still belongs to them."""

    def __len__(self) -> int:
        return len(self.kept["index"]) - self.first_row

    def since(self, at: float) -> SampleColumns:
        """Those that were intended at that time or later."""
        before = sum(
            int(np.searchsorted(block.intended_at, at)) for block in self.blocks()
        )  # of each block all, some or none, as they are in order
        return replace(self, first_row=self.first_row + before, start=max(at, self.start))

    def rows(self, start: int, stop: int) -> Block:
        """Those from one place up to another."""
        first, last = self.first_row + start, self.first_row + stop
        return Block(lambda name: self.kept[name].read(first, last), stop - start)

    def blocks(self) -> Iterator[Block]:
        """All of them, in order, a block at a time."""
        for start in range(0, len(self), ROWS):
            yield self.rows(start, min(start + ROWS, len(self)))

    def values(self, of: Callable[[Block], NDArray[Any]]) -> Floats:
        """One number of each request."""
        found = np.empty(len(self))
        at = 0
        for block in self.blocks():
            found[at : at + block.size] = of(block)
            at += block.size
        return found

    def known(self, of: Callable[[Block], Floats]) -> Floats:
        """The same without those that have none."""
        found = np.empty(len(self))
        at = 0
        for block in self.blocks():
            values = of(block)
            values = values[~np.isnan(values)]
            found[at : at + len(values)] = values
            at += len(values)
        return found[:at]

    def count(self, of: Callable[[Block], NDArray[Any]]) -> int:
        """How many there are, or the sum of whole numbers."""
        return sum(int(of(block).sum()) for block in self.blocks())

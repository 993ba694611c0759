"""Builds the columns of a run from its samples, in one pass that holds a few of them at a time."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement.column import Column, Shelf
from measurement.column_block import OUTCOME_CODE, SOURCE_CODE, Block, Ints, Kept
from measurement.columns import First, SampleColumns
from measurement.gap_store import GapPiece, GapStore
from measurement.outcome import Outcome
from measurement.sample import Sample

ROWS, GAPS = 4096, 1 << 16
"""Samples, or gaps of theirs, that are held until they become a piece of the columns."""

_KINDS = {name: kind.dtype for name, kind in vars(Block).items() if isinstance(kind, Kept)}
_OWN = {name: attrgetter(name) for name in _KINDS if name in Sample.__slots__}
for _coded in ("tenant", "outcome", "token_source", "attempts"):
    del _OWN[_coded]
"""Columns that are a sample's own numbers."""


class ColumnsBuilder:
    """Takes samples in any order; ``freeze`` gives the columns, and nothing is added after it."""

    def __init__(self, shelf: Shelf = BytesIO) -> None:
        self._kept = {name: Column(kind, shelf()) for name, kind in _KINDS.items()}
        self._gaps = GapStore(shelf)
        self._tenants: dict[str, int] = {}
        self._firsts: dict[Outcome, First] = {}
        self._waiting: list[Sample] = []
        self._gaps_waiting = 0

    def extend(self, samples: Iterable[Sample]) -> None:
        """Take them all."""
        for sample in samples:
            self.add(sample)

    def add(self, sample: Sample) -> None:
        """Take one. ValueError where a stream tells of some gaps and not of others."""
        if sample.gap_tokens is not None and len(sample.gap_tokens) != len(sample.gaps):
            raise ValueError(f"request {sample.index} has more gaps than counts of tokens, or less")
        self._waiting.append(sample)
        self._gaps_waiting += len(sample.gaps)
        if len(self._waiting) >= ROWS or self._gaps_waiting >= GAPS:
            self._flush()

    def read(self, name: str) -> NDArray[Any]:
        """What is kept of all so far, in the order in which they came."""
        self._flush()
        return self._kept[name].read()

    def freeze(self, *, newest: bool = False) -> SampleColumns:
        """The columns. With ``newest``, of samples with one index only the last that came."""
        self._sort(newest=newest)
        return SampleColumns(tuple(self._tenants), dict(self._firsts), self._kept, self._gaps)

    def _flush(self) -> None:
        samples, self._waiting, self._gaps_waiting = self._waiting, [], 0
        if not samples:
            return
        found = _numbers(samples)
        codes = self._tenants
        found["tenant"] = np.array([codes.setdefault(s.tenant, len(codes)) for s in samples])
        told = np.where(found["told"], found["gap_count"], 0)
        first_gap, first_token = self._gaps.places
        found["gap_place"] = first_gap + _before(found["gap_count"])
        found["told_place"] = first_token + _before(told)
        for name, values in found.items():
            self._kept[name].add(values)
        block = Block(found.__getitem__, len(samples))
        tokens = (s.gap_tokens for s in samples if s.gap_tokens)
        self._gaps.add(
            GapPiece(
                block.gap_count,
                np.where(block.success, block.intended_at, np.nan),
                block.told,
                np.fromiter(chain.from_iterable(s.gaps for s in samples), np.float64),
                np.fromiter(chain.from_iterable(tokens), np.int64),
            )
        )
        for place in np.flatnonzero(~block.success).tolist():
            self._failed(samples[place])

    def _failed(self, sample: Sample) -> None:
        first = self._firsts.get(sample.outcome)
        before = (not sample.error, sample.index)
        if first is None or before < (not first.error, first.index):
            self._firsts[sample.outcome] = First(sample.index, sample.error)

    def _sort(self, *, newest: bool) -> None:
        """By intended start and index; those that came earlier first where both are equal."""
        order = np.lexsort((self.read("index"), self.read("intended_at")))
        if newest:
            stays = _last_of_each(self.read("index"))
            self._gaps.leave_out(~stays)
            order = order[stays[order]]
        for column in self._kept.values():
            column.rewrite(column.read()[order])


def columns_of(samples: Iterable[Sample], shelf: Shelf = BytesIO) -> SampleColumns:
    """The columns of these samples."""
    builder = ColumnsBuilder(shelf)
    builder.extend(samples)
    return builder.freeze()


def _numbers(samples: list[Sample]) -> dict[str, NDArray[Any]]:
    """What each sample tells by itself, by column."""
    gaps, told = [s.gaps for s in samples], [s.gap_tokens for s in samples]
    found: dict[str, Iterable[Any]] = {
        **{name: map(own, samples) for name, own in _OWN.items()},
        "outcome": (OUTCOME_CODE[s.outcome] for s in samples),
        "token_source": (SOURCE_CODE[s.token_source] for s in samples),
        "attempts": (len(s.attempts) for s in samples),
        "gap_count": map(len, gaps),
        "gap_seconds": map(sum, gaps),
        "longest_gap": (max(own, default=None) for own in gaps),
        "told": (tokens is not None for tokens in told),
        "told_tokens": (sum(tokens) if tokens else 0 for tokens in told),
        "gap_weight": (
            len(s.gaps) if s.gap_tokens is None else sum(s.gap_weights) for s in samples
        ),
    }
    return {name: np.array(list(column), dtype=_KINDS[name]) for name, column in found.items()}


def _before(counts: Ints) -> Ints:
    """By place, the sum of those before it."""
    return np.cumsum(counts) - counts


def _last_of_each(index: Ints) -> NDArray[np.bool_]:
    """By place, whether the same number does not come again."""
    order = np.argsort(index, kind="stable")
    stays = np.ones(len(index), dtype=np.bool_)
    stays[order[:-1]] = np.diff(index[order]) != 0
    return stays

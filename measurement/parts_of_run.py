"""A run cut into groups of requests, as by tenant: counts, shares and percentiles of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from measurement.column_block import Block
from measurement.columns import SampleColumns
from measurement.judgements import Judgements
from measurement.latencies import Latency, only_successes
from measurement.proportion import Share
from measurement.quantiles import Quantiles


@dataclass(frozen=True)
class Parts:
    """By code, the groups in which something was offered."""

    columns: SampleColumns
    judgements: Judgements
    offered: Mapping[int, int]
    codes: NDArray[np.int32]
    """Of each request."""
    order: NDArray[np.int32]
    """The places of the requests: those of one group together, in their own order."""

    @classmethod
    def by(
        cls,
        columns: SampleColumns,
        judgements: Judgements,
        of: Callable[[Block], NDArray[Any]],
    ) -> Self:
        """By the code that ``of`` gives each request of the columns, the end of those judged."""
        found = [of(block).astype(np.int32) for block in columns.blocks()]
        codes = np.concatenate(found) if found else np.empty(0, np.int32)
        names, counts = np.unique(codes, return_counts=True)
        offered = dict(zip(names.tolist(), counts.tolist(), strict=True))
        order = np.argsort(codes, kind="stable").astype(np.int32)
        return cls(columns, judgements, offered, codes, order)

    def joint(self, code: int) -> Share:
        """Those of a group that met every objective."""
        cut = len(self.judgements.met) - len(self.columns)
        return self.judgements.share(dict(self._groups())[code] + cut)

    def sums(self, of: Callable[[Block], NDArray[Any]]) -> dict[int, int]:
        """The sum of whole numbers, by group."""
        size = max(self.offered, default=0) + 1
        total, at = np.zeros(size), 0
        for block in self.columns.blocks():
            codes = self.codes[at : at + block.size]
            total += np.bincount(codes, weights=of(block), minlength=size)
            at += block.size
        return {code: int(total[code]) for code in self.offered}

    def quantiles(self, of: Latency) -> dict[int, Quantiles]:
        """The percentiles of a latency of the successes, in ms, by group."""
        values = self.columns.values(only_successes(of))
        found = {}
        for code, rows in self._groups():
            own = values[rows]
            own = own[~np.isnan(own)]
            found[code] = Quantiles.of(own, scale=1e3)
        return found

    def _groups(self) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """The places of each group's requests."""
        at = 0
        for code, count in self.offered.items():
            yield code, self.order[at : at + count]
            at += count

"""What every request of a run was worth under its SLO, and the shares of any part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measurement.batch_means import effective_n
from measurement.column_block import Bools, Ints
from measurement.columns import SampleColumns
from measurement.judging import judge_block
from measurement.objectives import METRICS
from measurement.proportion import Share
from measurement.slo import Slo
from measurement.tally import Tally

Rows = slice | Ints | NDArray[np.int32]
"""Some of the requests, by their places in the columns that were judged."""

_BIT = {name: 1 << place for place, name in enumerate(METRICS)}
"""A byte holds which metrics a request missed."""


@dataclass(frozen=True)
class Judgements:
    """Of each request, in the order of the columns: a few bytes each."""

    columns: SampleColumns
    slo: Slo | None
    window: NDArray[np.int32]
    """Its window of a second, counted among those in which something was intended."""
    met: Bools
    excluded: Bools
    missed: NDArray[np.uint8]
    unmeasured: NDArray[np.uint8]

    @classmethod
    def of(cls, columns: SampleColumns, slo: Slo | None) -> Judgements:
        """Judge them all."""
        n = len(columns)
        made = cls(
            columns,
            slo,
            np.empty(n, np.int32),
            np.empty(n, np.bool_),
            np.empty(n, np.bool_),
            np.zeros(n, np.uint8),
            np.zeros(n, np.uint8),
        )
        at, windows, newest = 0, 0, None
        for block in columns.blocks():
            rows = slice(at, at + block.size)
            judged = judge_block(block, columns.tenants, slo)
            made.met[rows], made.excluded[rows] = judged.met, judged.excluded
            for metric, bit in _BIT.items():
                if metric in judged.missed:
                    made.missed[rows] |= np.where(judged.missed[metric], bit, 0).astype(np.uint8)
                    unknown = judged.unmeasured[metric]
                    made.unmeasured[rows] |= np.where(unknown, bit, 0).astype(np.uint8)
            seconds = np.floor_divide(block.intended_at, 1.0)
            fresh = np.diff(seconds, prepend=np.nan if newest is None else newest) != 0
            made.window[rows] = windows - 1 + np.cumsum(fresh)
            at, windows, newest = rows.stop, int(made.window[rows.stop - 1]) + 1, seconds[-1]
        return made

    def share(self, rows: Rows) -> Share:
        """Those of them that met every objective."""
        judged, met = self._by_window(rows, ~self.excluded), self._by_window(rows, self.met)
        return Share(int(met.sum()), int(judged.sum()), effective_n(judged, met))

    def tally(self, since: int = 0) -> Tally:
        """Of those from that place on: what a verdict needs."""
        rows = slice(since, None)
        offered = self._by_window(rows, np.ones(len(self.met), np.bool_))
        there = offered > 0
        found = {
            metric: self._by_window(rows, (self.missed & bit) > 0)[there]
            for metric, bit in _BIT.items()
        }
        unknown = {
            metric: int(np.count_nonzero(self.unmeasured[rows] & bit))
            for metric, bit in _BIT.items()
        }
        return Tally(
            offered=int(offered.sum()),
            pending=0,
            excluded=int(np.count_nonzero(self.excluded[rows])),
            met_tokens=self._met_tokens(since),
            unmeasured={metric: count for metric, count in unknown.items() if count},
            judged=_listed(self._by_window(rows, ~self.excluded)[there]),
            met=_listed(self._by_window(rows, self.met)[there]),
            missed_by={name: _listed(counts) for name, counts in found.items() if counts.any()},
        )

    def _met_tokens(self, since: int) -> int:
        total, at = 0, 0
        for block in self.columns.blocks():
            met = self.met[at : at + block.size].copy()
            met[: max(0, since - at)] = False
            total += int(np.nansum(block.output_tokens[met]))
            at += block.size
        return total

    def _by_window(self, rows: Rows, which: Bools) -> Ints:
        """How many of the rows hold in each window."""
        last = int(self.window[-1]) + 1 if len(self.window) else 0
        return np.bincount(self.window[rows][which[rows]], minlength=last)


def _listed(counts: Ints) -> Sequence[int]:
    found: list[int] = counts.tolist()
    return found

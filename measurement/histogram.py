"""A sparse histogram that merges: three significant digits from 1 µs to 1 h.

The buckets are HdrHistogram's: 1,024 equal steps to each doubling. A value comes back as the
middle of its bucket, within 1/2,048 (0.049 %) of what was recorded. What is under 1 µs is 0;
what is over 1 h counts as 1 h. Merging adds counts, so it is exact, in any order and grouping.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement.rank import rank

STEPS = 1024
"""Buckets to each doubling."""
PRECISION = 1 / 2048
"""Largest relative error of a value from 1 µs to 1 h."""
HIGHEST = 3600.0

_PER_SECOND = 1e6


def bucket_of(seconds: float) -> int:
    """The bucket's number; 0 holds everything under 1 µs."""
    scaled = seconds * _PER_SECOND
    if not scaled >= 1.0:  # NaN and negatives end here too
        return 0
    mantissa, exponent = math.frexp(scaled if seconds < HIGHEST else HIGHEST * _PER_SECOND)
    return exponent * STEPS + int(mantissa * (2 * STEPS)) - (2 * STEPS - 1)


def buckets_of(seconds: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
    """``bucket_of`` for many values."""
    scaled = np.minimum(np.asarray(seconds, dtype=np.float64), HIGHEST) * _PER_SECOND
    mantissa, exponent = np.frexp(scaled)
    steps = (mantissa * (2 * STEPS)).astype(np.int64)
    return np.where(scaled >= 1.0, exponent * STEPS + steps - (2 * STEPS - 1), 0)


def middle_of(bucket: int) -> float:
    """Seconds in the middle of a bucket."""
    if bucket == 0:
        return 0.0
    exponent, step = divmod(bucket - 1, STEPS)
    return math.ldexp(1 + (step + 0.5) / STEPS, exponent) / _PER_SECOND


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by bucket, in order of bucket: 12 bytes each, as a long run keeps many of them."""

    _index: bytes = b""
    _count: bytes = b""

    @classmethod
    def of_buckets(cls, buckets: Iterable[tuple[int, int]]) -> Histogram:
        """From pairs of bucket number and count, in any order, each bucket once."""
        return cls.of_counts(dict(buckets))

    @classmethod
    def of_counts(cls, counts: Mapping[int, int]) -> Histogram:
        """From counts by bucket number, in any order."""
        index = sorted(counts)
        count = array("q", map(counts.__getitem__, index))
        return cls(array("i", index).tobytes(), count.tobytes())

    @property
    def buckets(self) -> tuple[tuple[int, int], ...]:
        """Pairs of bucket number and count, in order of bucket."""
        return tuple(zip(array("i", self._index), array("q", self._count), strict=True))

    @classmethod
    def of(cls, values: Iterable[float]) -> Histogram:
        """The histogram of these seconds."""
        return HistogramBuilder.of(values).freeze()

    @property
    def count(self) -> int:
        """How many values were recorded."""
        return sum(array("q", self._count))

    def merge(self, other: Histogram) -> Histogram:
        """Both together."""
        return merge_all((self, other))

    def percentile(self, percent: float) -> float | None:
        """Seconds of the percentile (in percent: 99), as in ``rank``; None without values."""
        return self.percentiles((percent,))[0]

    def percentiles(self, percents: Sequence[float]) -> list[float | None]:
        """Several at once, in one pass."""
        index, reached = array("i", self._index), list(accumulate(array("q", self._count)))
        n = reached[-1] if reached else 0
        places = [bisect_left(reached, rank(n, percent)) for percent in percents]
        return [middle_of(index[place]) if n else None for place in places]

    def to_json(self) -> dict[str, list[int]]:
        """Two lists of one length: bucket numbers, and counts."""
        return {
            "index": array("i", self._index).tolist(),
            "count": array("q", self._count).tolist(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Histogram:
        """What ``to_json`` wrote."""
        if len(given["index"]) != len(given["count"]):
            raise ValueError("a histogram's lists of buckets and counts differ in length")
        try:
            return cls(array("i", given["index"]).tobytes(), array("q", given["count"]).tobytes())
        except OverflowError as error:
            raise ValueError(f"a histogram's bucket or count is out of range: {error}") from None


EMPTY = Histogram()


def merge_all(histograms: Iterable[Histogram]) -> Histogram:
    """All of them together, in one pass."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        for bucket, count in histogram.buckets:
            total[bucket] += count
    return Histogram.of_counts(total)


_TOGETHER = 4096
"""Values that wait to be put into buckets together, which costs a tenth of one by one."""
_FEW = 24
"""Fewer than these are put into buckets one by one, which is then the cheaper way."""


class HistogramBuilder:
    """Where values are recorded, one by one; ``freeze`` gives the value to keep."""

    __slots__ = ("_arrays", "_counts", "_packed", "_values", "_waiting", "_weighed", "_weights")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._values: list[float] = []
        self._weighed: list[float] = []
        self._weights: list[int] = []
        self._arrays: list[NDArray[np.float64]] = []
        self._waiting = 0
        self._packed: Histogram | None = None

    @classmethod
    def of(cls, values: Iterable[float]) -> HistogramBuilder:
        """A builder that has recorded these seconds."""
        builder = cls()
        for value in values:
            builder.record(value)
        return builder

    def record(self, seconds: float, count: int = 1) -> None:
        """Count a value ``count`` times."""
        if count == 1:
            self._values.append(seconds)
        else:
            self._weighed.append(seconds)
            self._weights.append(count)
        self._waits(1)

    def record_all(self, values: Sequence[float], weights: Sequence[int] | None = None) -> None:
        """Count each value as often as its weight says, or once: ``record`` for many at once."""
        if weights is None:
            self._values += values
        elif len(weights) != len(values):
            raise ValueError(f"{len(values)} values have {len(weights)} weights")
        else:
            self._weighed += values
            self._weights += weights
        self._waits(len(values))

    def record_array(self, values: NDArray[np.float64]) -> None:
        """Count each value once; the array is kept until it is put into buckets."""
        self._arrays.append(values)
        self._waits(len(values))

    def _waits(self, more: int) -> None:
        self._waiting += more
        if self._waiting >= _TOGETHER:
            self._put()

    def _put(self) -> None:
        """What waits, into its buckets. Sums of weights are exact up to 2⁵³."""
        if self._weighed:
            self._add(self._weighed, self._weights)
            self._weighed, self._weights = [], []
        if self._arrays:
            self._add(np.concatenate([*self._arrays, self._values]), None)
            self._arrays, self._values = [], []
        elif self._values:
            self._add(self._values, None)
            self._values = []
        self._waiting = 0

    def _add(
        self, values: Sequence[float] | NDArray[np.float64], weights: Sequence[int] | None
    ) -> None:
        counts = self._counts
        if len(values) < _FEW:
            once = weights or [1] * len(values)
            pairs = zip(map(bucket_of, map(float, values)), once, strict=True)
        else:
            sums = np.bincount(buckets_of(values), weights)
            found = np.flatnonzero(sums)
            pairs = zip(found.tolist(), map(int, sums[found].tolist()), strict=True)
        for bucket, weight in pairs:
            counts[bucket] = counts.get(bucket, 0) + weight

    def freeze(self) -> Histogram:
        """The histogram so far."""
        if self._packed is not None:
            return self._packed
        self._put()
        return Histogram.of_counts(self._counts)

    def pack(self) -> None:
        """Hold what was recorded in a tenth of the memory. Unpack it before recording more."""
        self._packed = self.freeze()
        self._counts = {}

    def unpack(self) -> None:
        """Be ready to record again."""
        if self._packed is not None:
            self._counts = dict(self._packed.buckets)
            self._packed = None

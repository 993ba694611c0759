"""Runs of one law with each seed: how they are made, and their numbers as series.

A run is a function of its seed, so where and in what order runs are made changes no number. What
makes them is the plan's: one after the other here, in processes beside this one
(``loadtest.reproduce.processes``), or taken from a file of runs that are over
(``loadtest.reproduce.kept``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeAlias

from loadtest.reproduce.series import Series

Numbers: TypeAlias = Mapping[str, float]
Play: TypeAlias = Callable[[int], Numbers]
Ended: TypeAlias = Callable[[int, Numbers], None]
"""Told of each run that is over, by its seed; maybe by another thread."""
Result: TypeAlias = Callable[[], Sequence[Numbers]]
"""Waits for all of a pass, and gives them in order of seeds."""


class Runner(Protocol):
    """Makes the runs of a pass."""

    def begin(self, play: Play, seeds: Sequence[int], ended: Ended) -> Result:
        """Begin them; they may be over when this returns."""
        ...


class OneByOne:
    """Here and now."""

    def begin(self, play: Play, seeds: Sequence[int], ended: Ended) -> Result:
        rows = []
        for seed in seeds:
            rows.append(play(seed))
            ended(seed, rows[-1])
        return lambda: rows


class Measured(Mapping[str, Series]):
    """Every number of a pass as a series. Whoever reads first waits until its runs are over."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @cached_property
    def _series(self) -> dict[str, Series]:
        rows = self._result()
        return {key: Series(tuple(float(row[key]) for row in rows)) for key in rows[0]}

    def __getitem__(self, key: str) -> Series:
        return self._series[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)

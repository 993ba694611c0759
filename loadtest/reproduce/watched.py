"""Seeds that say how often they have been gone through: a system's progress, told by none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload


class WatchedSeeds(Sequence[int]):
    """``played`` is told after each run with a seed: how many there have been in all.

    A system plays each of its laws once with each seed, so its runs are what passes here; how many
    there will be, only a finished play of it can tell.
    """

    def __init__(self, seeds: Sequence[int], played: Callable[[int], None]) -> None:
        self._seeds = tuple(seeds)
        self._played = played
        self.runs = 0

    def __len__(self) -> int:
        return len(self._seeds)

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...

    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        return self._seeds[place]

    def __iter__(self) -> Iterator[int]:
        for seed in self._seeds:
            yield seed
            self.runs += 1
            self._played(self.runs)

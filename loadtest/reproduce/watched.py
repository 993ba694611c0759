"""Seeds that say how often they have been gone through, and how far that is of all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload


class WatchedSeeds(Sequence[int]):
    """``played`` is told after each run with a seed: how many there have been in all.

    A system plays each of its laws once with each seed, so its runs are what passes here.
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


class Watch:
    """How far a play is. It is told by the thread that plays, and read by another."""

    def __init__(self, seeds: Sequence[int], passes: int) -> None:
        self.seeds = WatchedSeeds(seeds, self._ended)
        self.of = passes * len(seeds)
        self.runs = 0
        self._part = 0.0

    @property
    def done(self) -> float:
        """Runs with a seed, the one that goes on by its part."""
        return min(float(self.of), self.runs + self._part)

    def part(self, share: float) -> None:
        """What share of the run that goes on is over."""
        self._part = share

    def _ended(self, runs: int) -> None:
        self.runs, self._part = runs, 0.0

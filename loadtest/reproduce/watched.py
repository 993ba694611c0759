"""How far a play is: runs with a seed, of how many."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Watch:
    """It is told by whatever thread a run ends in, and read by another.

    ``parts``: runs that go on beside each other, each by its share that is over; without it what
    ``part`` was told last.
    """

    def __init__(
        self, seeds: Sequence[int], passes: int, parts: Callable[[], float] | None = None
    ) -> None:
        self.of = passes * len(seeds)
        self.runs = 0
        self._part = 0.0
        self._parts = parts

    @property
    def done(self) -> float:
        """Runs with a seed, those that go on by their parts."""
        parts = self._part if self._parts is None else self._parts()
        return min(float(self.of), self.runs + parts)

    def part(self, share: float) -> None:
        """What share of the run that goes on is over."""
        self._part = share

    def ended(self) -> None:
        """A run is over."""
        self.runs, self._part = self.runs + 1, 0.0

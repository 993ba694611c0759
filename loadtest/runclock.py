"""One monotonic clock for a run: 0 is the schedule's start."""

from __future__ import annotations

from collections.abc import Callable


class RunClock:
    """Call it for the seconds since the start; ``since`` turns a raw stamp into them."""

    __slots__ = ("origin", "raw")

    def __init__(self, raw: Callable[[], float]) -> None:
        self.raw = raw
        self.origin = raw()

    def begin(self, *, after: float = 0.0) -> None:
        """The schedule starts so many seconds from now."""
        self.origin = self.raw() + after

    def __call__(self) -> float:
        return self.raw() - self.origin

    def since(self, moment: float) -> float:
        """A stamp of the raw clock, on the run's."""
        return moment - self.origin

"""One monotonic clock for a run: 0 is the schedule's start."""

from __future__ import annotations

from collections.abc import Callable


class RunClock:
    """Call it for the seconds since the start, which is ``origin`` on the raw clock.

    ``since`` turns a raw stamp into seconds of the run.
    """

    __slots__ = ("origin", "raw")

    def __init__(self, raw: Callable[[], float]) -> None:
        self.raw = raw
        self.origin = raw()

    def __call__(self) -> float:
        return self.raw() - self.origin

    def since(self, moment: float) -> float:
        """A stamp of the raw clock, on the run's."""
        return moment - self.origin

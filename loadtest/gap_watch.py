"""Which answers were under way while the client stood still, and what that did to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadtest.runclock import RunClock
from measurement.doubted_gaps import DoubtedGaps, Stall, error_of
from measurement.sample import Sample


class GapWatch:
    """Looks at each answer as it ends. ``stalls`` gives those within a time of the raw clock."""

    def __init__(self, clock: RunClock, stalls: Callable[[float, float], Sequence[Stall]]) -> None:
        self._clock = clock
        self._stalls = stalls
        self.found = DoubtedGaps()

    def take(self, sample: Sample) -> None:
        first, last = sample.first_token_at, sample.last_token_at
        if not (sample.outcome.success and sample.gaps) or first is None or last is None:
            return
        origin = self._clock.origin
        stalls = self._stalls(first + origin, last + origin)
        error = error_of(first + origin, sample.gaps, stalls) if stalls else 0.0
        self.found += DoubtedGaps(1, int(error > 0.0), error)

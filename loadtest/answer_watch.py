"""Which answers were under way while the client stood still, and what that did to their times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadtest.runclock import RunClock
from measurement.doubted import NOTHING, TURN, Doubted, Stall, first_error, gap_error
from measurement.sample import Sample


class AnswerWatch:
    """Looks at each answer as it ends. ``stalls`` gives those within a time of the raw clock.

    A first token may be late by ``most`` undoubted. Where tokens are ``stamped`` by the kernel, it
    is right unless the next one has its very time: then the kernel joined them as they waited.
    """

    def __init__(
        self,
        clock: RunClock,
        stalls: Callable[[float, float], Sequence[Stall]],
        *,
        most: float,
        stamped: bool,
    ) -> None:
        self._clock = clock
        self._stalls = stalls
        self._most = most
        self._stamped = stamped
        self.gaps = NOTHING
        self.firsts = NOTHING

    def take(self, sample: Sample) -> None:
        """Counts it in."""
        first, gap = self.look(sample)
        self.firsts += first
        self.gaps += gap

    def look(self, sample: Sample) -> tuple[Doubted, Doubted]:
        """What is doubted of one answer: its first token, and its longest gap."""
        first, last = sample.first_token_at, sample.last_token_at
        if not sample.outcome.success or first is None or last is None:
            return NOTHING, NOTHING
        at = first + self._clock.origin
        stalls = self._stalls(at - TURN, last + self._clock.origin)
        error = self._first_error(at, sample, stalls) if stalls else 0.0
        doubt = Doubted(1, 1, error) if error > self._most else Doubted(1)
        if not sample.gaps:
            return doubt, NOTHING
        error = gap_error(at, sample.gaps, stalls) if stalls else 0.0
        return doubt, Doubted(1, int(error > 0.0), error)

    def _first_error(self, at: float, sample: Sample, stalls: Sequence[Stall]) -> float:
        if not self._stamped:
            return first_error(at, stalls, within=TURN)
        joined = bool(sample.gaps) and sample.gaps[0] == 0.0
        return first_error(at, stalls) if joined else 0.0

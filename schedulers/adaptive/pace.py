"""Pace: seconds per output token after the first, and whether one more in flight still pays.

Continuous batching has no queue to see: all in flight share each step. With steps of a + b n the
pace is a + b n as well, and throughput n / (a + b n). Its elasticity e = b n / (a + b n) says what
one more costs: throughput grows by 1 − e of it, latency by e. At e = 1/2 the power (throughput over
latency) is at its highest (Kleinrock, 1979); beyond, growth costs more latency than it gives
throughput. a and b follow from two points: the lowest pace seen, and the present one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from schedulers.adaptive.cohort import median

FEWEST = 8
"""Answers of a cohort before its median says anything."""
ALIKE = 1.25
"""Peaks within this factor are of one load."""


class Pace(NamedTuple):
    """Seconds a token: the lowest median of some answers with the peak in flight then; and of late.

    A point is made of answers that were said at one load: most of their time since ``since``.
    """

    low: float | None = None
    low_peak: int = 0
    now: float | None = None
    now_peak: int = 0
    values: tuple[float, ...] = ()
    """Of the next point."""
    since: float = 0.0
    peak: int = 0
    """The most in flight at any of those answers."""
    answers: int = 0
    """Those answers, with the ones that have no pace."""
    shown: float = 0.0
    """The highest of those peaks so far."""

    def seen(self, in_flight: int, rest: float, output_tokens: int | None, now: float) -> Pace:
        """One more answer: the time after its first token, over its tokens where they are known."""
        if now - self.since < 0.5 * rest:
            return self
        value = rest / max(1, (output_tokens or 2) - 1)
        return Pace(
            self.low,
            self.low_peak,
            self.now,
            self.now_peak,
            (*self.values, value) if value > 0.0 else self.values,
            self.since,
            max(self.peak, in_flight),
            self.answers + 1,
            self.shown,
        )

    def ended(self, now: float) -> Pace:
        """A point is made of what there is; answers of one token show the load, and no pace."""
        shown = max(self.shown, float(self.peak))
        if len(self.values) < FEWEST:
            return self.afresh(now)._replace(shown=shown)
        value = median(sorted(self.values)).value
        pace = value
        if self.now is not None and self.now_peak / ALIKE < self.peak < ALIKE * self.now_peak:
            pace = self.now + 0.5 * (value - self.now)  # another load has another pace
        if self.low is None or pace < self.low:
            return Pace(pace, self.peak, pace, self.peak, since=now, shown=shown)
        return Pace(self.low, self.low_peak, pace, self.peak, since=now, shown=shown)

    def afresh(self, now: float) -> Pace:
        """The load has changed."""
        return self._replace(values=(), since=now, peak=0, answers=0)

    @property
    def elasticity(self) -> float:
        """Between the two points, at the present one; 0 where they can't be told apart."""
        if self.low is None or self.now is None or self.now_peak < ALIKE * self.low_peak:
            return 0.0
        slope = (self.now - self.low) / (self.now_peak - self.low_peak)
        return slope * self.now_peak / self.now

    def room(self, elasticity: float) -> float:
        """How many times as many in flight it takes to come to that elasticity, by the two points.

        With steps of a + b n it grows as b n / a = e / (1 − e); infinity where nothing is known.
        """
        found = self.elasticity
        if found <= 0.0:
            return math.inf
        if found >= 1.0:
            return 0.0
        return elasticity / (1.0 - elasticity) * (1.0 - found) / found

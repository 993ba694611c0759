"""Pace: seconds per output token after the first, and whether one more in flight still pays.

Continuous batching has no queue to see: all in flight share each step. With steps of a + b n the
pace is a + b n as well, and throughput n / (a + b n). Its elasticity e = b n / (a + b n) says what
one more costs: throughput grows by 1 − e of it, latency by e. At e = 1/2 the power (throughput over
latency) is at its highest (Kleinrock, 1979); beyond, growth costs more latency than it gives
throughput. a and b follow from two points: the lowest pace seen, and the present one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from schedulers.cohort import median

FEWEST = 8
"""Answers of a cohort before its median says anything."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds a token: the lowest median of a cohort with the peak in flight then; and of late."""

    low: float | None = None
    low_peak: int = 0
    now: float | None = None
    now_peak: int = 0
    values: tuple[float, ...] = ()
    """Of the members of the present cohort."""

    def seen(self, rest: float, output_tokens: int | None) -> Pace:
        """One more answer: the time after its first token, over its tokens where they are known."""
        value = rest / max(1, (output_tokens or 2) - 1)
        return replace(self, values=(*self.values, value)) if value > 0.0 else self

    def ended(self, peak: int) -> Pace:
        """The cohort is over, with so many in flight at its peak."""
        if len(self.values) < FEWEST:
            return replace(self, values=())
        value = median(sorted(self.values)).value
        now = value if self.now is None else self.now + 0.5 * (value - self.now)
        if self.low is None or now < self.low:
            return Pace(now, peak, now, peak)
        return Pace(self.low, self.low_peak, now, peak)

    @property
    def elasticity(self) -> float:
        """Between the two points, at the present one; 0 where they can't be told apart."""
        if self.low is None or self.now is None or self.now_peak < 1.25 * self.low_peak:
            return 0.0
        slope = (self.now - self.low) / (self.now_peak - self.low_peak)
        return slope * self.now_peak / self.now

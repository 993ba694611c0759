"""How far another machine's monotonic clock is from ours, and how surely that is known.

One exchange brackets the offset, whatever the two ways took (NTP's on-wire arithmetic, RFC 5905
section 8): the truth is at most half the round trip from the estimate. Of several the one with the
shortest round trip counts. Clocks that run at different rates widen it by what they part meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from measurement.validity import ON_TIME

RATE = 500e-6
"""The largest difference in rate that is allowed for: what Linux's clock discipline may slew by."""
ROUNDS = 16
"""Exchanges of one reading."""
MOST_OFF = ON_TIME
"""Seconds that a machine's clock may be off, or not known: a request counts as sent on time within
as much, and what is off by more can't be shown to be. It is 1 % of a window of 1 s."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Seconds: ``asked`` and ``back`` on our clock, ``heard`` and ``answered`` on the other's."""

    asked: float
    heard: float
    answered: float
    back: float

    @property
    def round_trip(self) -> float:
        """Seconds under way, both ways."""
        return (self.back - self.asked) - (self.answered - self.heard)

    @property
    def offset(self) -> float:
        """The other's clock less ours, if both ways took the same."""
        return ((self.heard - self.asked) + (self.answered - self.back)) / 2

    @property
    def within(self) -> float:
        """The true offset, at any moment of the exchange, is at most so far from ``offset``."""
        return max(0.0, self.round_trip) / 2 + 2 * RATE * (self.back - self.asked)


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a machine's clock, in seconds."""

    offset: float
    within: float
    round_trip: float
    rounds: int


def read(exchanges: Iterable[Exchange]) -> Reading:
    """From the surest of the exchanges; ValueError where there is none."""
    found = list(exchanges)
    best = min(found, key=lambda one: one.within)
    return Reading(best.offset, best.within, best.round_trip, len(found))


@dataclass(frozen=True, slots=True)
class MachineClock:
    """A machine's clock over a run: as the start was named in it, and read again at the end."""

    first: Reading
    last: Reading | None = None

    @property
    def drift(self) -> float | None:
        """Seconds by which it has moved against ours; None where it was not read again."""
        return None if self.last is None else self.last.offset - self.first.offset

    @property
    def off_by(self) -> float:
        """The most that the machine's schedule can have been away from ours when it was read."""
        if self.last is None:
            return self.first.within
        return max(self.first.within, abs(self.last.offset - self.first.offset) + self.last.within)

    def doubt(self, name: str) -> str:
        """What makes the result invalid; empty where the clock is known well enough."""
        if self.off_by <= MOST_OFF:
            return ""
        drift = f", and moved by {1e3 * self.drift:.1f} ms" if self.drift is not None else ""
        return (
            f"{name} may have sent its part up to {1e3 * self.off_by:.1f} ms off the schedule: its "
            f"clock is known to ±{1e3 * self.first.within:.1f} ms{drift}; the most is "
            f"{1e3 * MOST_OFF:g} ms. Bring the machines nearer to the broker, or use fewer."
        )

    def to_json(self) -> Mapping[str, Any]:
        """In ms, as the report has it."""
        drift = self.drift
        return {
            "offset_ms": 1e3 * self.first.offset,
            "uncertainty_ms": 1e3 * self.first.within,
            "round_trip_ms": 1e3 * self.first.round_trip,
            "rounds": self.first.rounds,
            "drift_ms": None if drift is None else 1e3 * drift,
            "off_by_at_most_ms": 1e3 * self.off_by,
        }

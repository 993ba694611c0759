"""What a conclusion needs of a window: a long run has too many of them to hold whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from measurement.outcome import Outcome
from measurement.window import Window

HEARD = frozenset(
    (
        Outcome.OK,
        Outcome.TRUNCATED,
        Outcome.REJECTED_429,
        Outcome.REJECTED_503,
        Outcome.HTTP_4XX,
        Outcome.HTTP_5XX,
        Outcome.IN_BAND_ERROR,
        Outcome.INCOMPLETE,
        Outcome.EMPTY,
        Outcome.MALFORMED,
    )
)
"""Endings that come from the engine; the others are our own, or those of the way to it."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Times are in seconds from the schedule's start."""

    start: float
    end: float
    in_flight_us: int
    """The integral of the count in flight over time: requests × µs."""
    in_flight_span_us: int
    """The time over which it is known."""
    in_flight_max: int | None
    offered: int
    """Requests that were intended in it."""
    pending: int
    """Those of them that have no outcome."""
    spoke: bool
    """Whether the engine said anything in it, be it an error."""

    @classmethod
    def of(cls, window: Window) -> Self:
        """Of this window."""
        events, cohort = window.events, window.cohort
        return cls(
            window.start,
            window.end,
            events.in_flight_us,
            events.in_flight_span_us,
            events.in_flight_max,
            cohort.offered,
            cohort.pending,
            bool(events.tokens) or any(outcome in HEARD for outcome in events.completed),
        )

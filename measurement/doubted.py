"""Times of answers that may be the client's own: it stood still while they came.

Lag is judged over time: a stall of half a second is under 1 % of a minute. But it touches every
answer that is under way, and one stall is enough to make an answer's longest gap; and where clients
go in step, it can touch every tenth first token. So these two are doubted by the answer, by how far
each can be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FLOOR = 0.005
"""Seconds, and"""
SHARE = 0.05
"""share of a longest gap, by the larger of which it may be wrong undoubted."""
MOST = 0.01
"""Share of the answers that may be doubted: with more, P99 says nothing."""
FEWEST = 4
"""Fewer answers move no percentile that is given: 1 % of the 368 that a P99 takes,
5 % of the 72 of a P95, 10 % of the 36 of a P90."""
SOONER = 0.02
"""Seconds by which a stall may have begun before it was due to be noticed."""
TURN = 0.02
"""Seconds after a stall within which what came meanwhile is read; longer is a stall of its own."""

Stall = tuple[float, float]
"""From when the client is known to have stood still until when, on the clock of the tokens."""


@dataclass(frozen=True, slots=True)
class Doubted:
    """How many of the ``answers`` are ``doubted``, and by how many seconds one of them may be wrong
    at most."""

    answers: int = 0
    doubted: int = 0
    error: float = 0.0

    def __add__(self, other: Doubted) -> Doubted:
        return Doubted(
            self.answers + other.answers,
            self.doubted + other.doubted,
            max(self.error, other.error),
        )

    @property
    def share(self) -> float:
        """Of the answers."""
        return self.doubted / self.answers if self.answers else 0.0

    @property
    def matters(self) -> bool:
        """Whether there are enough of them to move a number that is given."""
        return self.doubted >= FEWEST and self.share > MOST

    def sentence(self, what: str, wrong: str) -> str | None:
        """What of them is ``wrong`` ("late"), and what to do; None where nothing is."""
        if not self.matters:
            return None
        return (
            f"The {what} of {100 * self.share:.1f} % of the answers may be up to "
            f"{1e3 * self.error:,.0f} ms too {wrong}: the client stood still as it came. "
            "Run it where less else runs."
        )


NOTHING = Doubted()


def gap_error(first_token_at: float, gaps: Sequence[float], stalls: Sequence[Stall]) -> float:
    """Seconds by which the longest of these gaps may be too long, for the client's stalls.

    No more than the stalls that it overlaps last, nor than it is longer than the longest gap that
    overlaps none. 0 where that is within what may be wrong undoubted.
    """
    own = np.asarray(gaps, np.float64)
    ends = first_token_at + np.cumsum(own)
    starts = ends - own
    overlap = np.zeros(len(own))
    for since, until in stalls:
        touched = (ends >= since - SOONER) & (starts <= until)
        overlap[touched] += until - since + SOONER
    longest = int(np.argmax(own))
    clean = float(np.max(own[overlap == 0.0], initial=0.0))
    error = min(float(overlap[longest]), float(own[longest]) - clean)
    return error if error > max(FLOOR, SHARE * float(own[longest])) else 0.0


def first_error(first_token_at: float, stalls: Sequence[Stall], *, within: float = 0.0) -> float:
    """Seconds by which a first token may be late whose time lies in a stall, or ``within`` so many
    seconds of its end; it may have come as soon as that began."""
    errors = [
        first_token_at - since
        for since, until in stalls
        if since <= first_token_at <= until + within
    ]
    return max(errors, default=0.0)

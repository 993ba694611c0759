"""Longest gaps that may be the client's own: it stood still while they came.

Lag is judged over time: a stall of half a second is under 1 % of a minute. But it touches every
answer that is under way, and one stall is enough to make an answer's longest gap. So longest gaps
are doubted by the answer, by how far each can be wrong.
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
"""Share of the answers whose longest gap may be doubted: with more, P99 says nothing."""

Stall = tuple[float, float]
"""From when to when the client stood still, on the clock of the tokens."""


@dataclass(frozen=True, slots=True)
class DoubtedGaps:
    """How many of the ``answers`` with gaps are ``doubted``; ``error`` is the most, in seconds, by
    which the longest gap of one of them may be too long."""

    answers: int = 0
    doubted: int = 0
    error: float = 0.0

    def __add__(self, other: DoubtedGaps) -> DoubtedGaps:
        return DoubtedGaps(
            self.answers + other.answers,
            self.doubted + other.doubted,
            max(self.error, other.error),
        )

    def sentence(self) -> str | None:
        """What is wrong with longest gaps, and what to do; None where nothing is."""
        if self.doubted <= MOST * self.answers:
            return None
        share = self.doubted / self.answers
        return (
            f"The longest gap of {100 * share:.1f} % of the answers may be up to "
            f"{1e3 * self.error:,.0f} ms too long: the client stood still while their tokens came. "
            "Run it where less else runs."
        )


NO_GAPS = DoubtedGaps()


def error_of(first_token_at: float, gaps: Sequence[float], stalls: Sequence[Stall]) -> float:
    """Seconds by which the longest of these gaps may be too long, for the client's stalls.

    No more than the stalls that it overlaps last, nor than it is longer than the longest gap that
    overlaps none. 0 where that is within what may be wrong undoubted.
    """
    own = np.asarray(gaps, np.float64)
    ends = first_token_at + np.cumsum(own)
    starts = ends - own
    overlap = np.zeros(len(own))
    for since, until in stalls:
        touched = (ends >= since) & (starts <= until)
        overlap[touched] += until - since
    longest = int(np.argmax(own))
    clean = float(np.max(own[overlap == 0.0], initial=0.0))
    error = min(float(overlap[longest]), float(own[longest]) - clean)
    return error if error > max(FLOOR, SHARE * float(own[longest])) else 0.0

"""What whole answers tell beside their first tokens: how long the rest takes, and its pace."""

from __future__ import annotations

import math
from typing import NamedTuple

from schedulers.adaptive.cohort import Cohort, Seen, median
from schedulers.adaptive.pace import Pace

REST_STEP = 0.9
"""A rest must be lower by a tenth to be taken over."""
FIRST = 8
"""Requests of the first cohort: sooner known, and a better one follows."""


class Answers(NamedTuple):
    """``cohort`` gathers logarithms of the seconds from first token to end."""

    cohort: Cohort
    rest: float = 0.0
    """The least median of a cohort so far, in seconds: what a wait is weighed against."""
    known: bool = False
    """A cohort has told a rest."""
    pace: Pace = Pace()

    def ended(
        self, seen: Seen, rest: float, output_tokens: int | None, now: float, enough: int
    ) -> Answers:
        """One more answer; its pace counts where it started at the load that is looked at."""
        cohort = self.cohort.with_answer(seen, math.log(max(rest, 1e-6)), streamed=False)
        pace = self.pace.seen(seen.in_flight, rest, output_tokens, now)
        if pace.answers >= enough:
            pace = pace.ended(now)
        return Answers(cohort, self.rest, self.known, pace)

    def without(self, seen: Seen) -> Answers:
        """A request ended that tells nothing."""
        return self._replace(cohort=self.cohort.without(seen))

    def judged(self, granted: int, now: float, size: int) -> Answers:
        """With the rest that the cohort tells, once it does; the next cohort has begun then."""
        cohort = self.cohort
        if cohort.closed is None and cohort.size(granted) >= (size if self.known else FIRST):
            cohort = cohort.close(granted, now)
        if cohort.closed is None:
            return self
        if not cohort.settled(now):
            # Who is out since then has a rest of so much at the least: less is the stricter.
            rest = self.rest if self.known else max(self.rest, now - cohort.closed)
            return Answers(cohort, rest, self.known, self.pace)
        found = math.exp(median(cohort.complete()).value)
        rest = found if not self.known or found <= REST_STEP * self.rest else self.rest
        return Answers(Cohort(granted + 1, now), rest, known=True, pace=self.pace)

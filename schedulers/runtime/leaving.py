"""How fast a queue empties, and when whoever is sent away may come back."""

from __future__ import annotations

import math

MEMORY_S = 10.0
"""Departures longer ago than about this no longer count."""
LEAST_S = 1.0
"""The shortest wait that is told: HTTP's Retry-After has whole seconds."""


class Leaving:
    """Departures a second, a moving mean; and promises, so that no two come back at one moment.

    Who is sent away is told to come back when those waiting, and all who were sent away before and
    are to come first, will have gone. A constant would bring all of them back together.
    """

    def __init__(self) -> None:
        self._count = 0.0
        self._at: float | None = None
        self._since: float | None = None
        self._promised_until = -math.inf

    def left(self, now: float) -> None:
        """One has left the queue for the engine."""
        self._fade(now)
        self._count += 1.0

    def stayed(self, now: float) -> None:
        """The last that left did not go after all."""
        self._fade(now)
        self._count = max(0.0, self._count - 1.0)

    def rate(self, now: float) -> float | None:
        """Departures a second; None where too few have left to tell."""
        self._fade(now)
        if self._since is None or self._count < 1.0:
            return None
        seen = max(1.0, now - self._since)
        return self._count / (MEMORY_S * (1.0 - math.exp(-seen / MEMORY_S)))

    def come_back(self, now: float, waiting: int, draw: float, cap_s: float) -> float:
        """Seconds after which there will be room, spread by ``draw`` from [0, 1)."""
        rate = self.rate(now)
        if rate is None:
            return min(cap_s, LEAST_S + draw * LEAST_S)
        free_at = max(now + waiting / rate, self._promised_until)
        self._promised_until = min(free_at, now + cap_s) + 1.0 / rate
        # Half of a gap to either side: apart from each other, and not in step.
        wait = self._promised_until - now + (draw - 0.5) / rate
        # At the cap there is no room to be apart in order, so chance spreads them over half of it.
        return max(LEAST_S, wait if wait < cap_s else cap_s * (0.5 + 0.5 * draw))

    def _fade(self, now: float) -> None:
        if self._at is None:
            self._at = self._since = now
        if now > self._at:
            self._count *= math.exp((self._at - now) / MEMORY_S)
            self._at = now

"""How fast a queue drains, told so that whoever is promised a place finds it.

While something waits, departures are counted on a clock that runs only then. They come in waves
(a batch that started together ends together), so a mean rate alone would promise too early: the
drain is described by a rate and a latency, as network calculus does, and k places are free after
``latency + k / rate``.
"""

from __future__ import annotations

import itertools
from collections import deque

HORIZON = 60.0
"""Busy seconds that are remembered."""
GRAIN = 0.05
"""Departures closer than this are one wave."""
CAUTION = 0.8
"""Share of the measured rate that is promised."""
SETTLED = 3.0
"""Service times for which a queue must have stood before its rate is read off it."""
PRIOR_SERVICE = 5.0
"""Seconds a request is taken to last before any has ended."""


class Drain:
    """Fed with what happens to one queue and the slots behind it; pure but for its state."""

    def __init__(self) -> None:
        self._busy_since: float | None = None
        self._busy_before = 0.0
        self._waves: deque[tuple[float, int]] = deque()
        self._longest: deque[tuple[float, float]] = deque()
        """Recent service times that no later one exceeds: (ended at, seconds)."""

    def waiting(self, now: float, n: int) -> None:
        """From now on ``n`` requests wait."""
        if n and self._busy_since is None:
            self._busy_since = now
            if not self._waves:
                self._waves.append((self._busy_before, 0))
        elif not n and self._busy_since is not None:
            self._busy_before += max(0.0, now - self._busy_since)
            self._busy_since = None

    def departed(self, now: float, service: float) -> None:
        """A slot came free after ``service`` seconds."""
        while self._longest and self._longest[-1][1] <= service:
            self._longest.pop()
        self._longest.append((now, service))
        while now - self._longest[0][0] > HORIZON and len(self._longest) > 1:
            self._longest.popleft()
        if self._busy_since is None:
            return
        at = self._busy(now)
        last, count = self._waves[-1]
        if count and at - last < GRAIN:
            self._waves[-1] = (last, count + 1)
        else:
            self._waves.append((at, 1))
        while len(self._waves) > 2 and at - self._waves[0][0] > HORIZON:
            self._waves.popleft()

    def promise(self, now: float, slots: int) -> tuple[float, float]:
        """(rate, latency): so many places a second, after so many seconds at the start."""
        longest = self._longest[0][1] if self._longest else PRIOR_SERVICE
        guess = max(1, slots) / max(longest, 1e-3)
        at = self._busy(now)
        span = at - self._waves[0][0] if self._waves else 0.0
        if span <= SETTLED * longest:  # too short a look: what was under way before counts in it
            return CAUTION * guess, longest
        counted = sum(count for _, count in self._waves) - self._waves[0][1]
        times = [when for when, _ in self._waves] + [at]
        silence = max(later - early for early, later in itertools.pairwise(times))
        return CAUTION * max(counted / span, 1e-6), max(silence, longest)

    def _busy(self, now: float) -> float:
        running = 0.0 if self._busy_since is None else max(0.0, now - self._busy_since)
        return self._busy_before + running

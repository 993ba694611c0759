"""How late the host is against the model: a slow host is not a slow engine."""

from __future__ import annotations

from dataclasses import dataclass

WINDOW_S = 5.0


@dataclass(slots=True)
class LagWatch:
    """The worst lateness of the last one to two windows: between 5 and 10 seconds."""

    _began: float = 0.0
    _now: float = 0.0
    _before: float = 0.0

    def saw(self, now: float, lag: float) -> None:
        """A step was told ``lag`` seconds after its time."""
        self._roll(now)
        self._now = max(self._now, lag)

    def worst(self, now: float) -> float:
        self._roll(now)
        return max(self._now, self._before)

    def _roll(self, now: float) -> None:
        passed = now - self._began
        if passed < WINDOW_S:
            return
        self._before = self._now if passed < 2 * WINDOW_S else 0.0
        self._now = 0.0
        self._began = now

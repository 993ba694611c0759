"""How long first tokens take, as a line in prompt tokens: learned where no model of the engine is.

The fit of those seen, weighted to the last fifty. A busy engine moves it up as a whole.
"""

from __future__ import annotations

_MEMORY = 50.0
_FEW = 8
"""Until so many were seen, and while prompts are too alike, their mean stands for all."""


def faded(seconds: float, silent: float) -> float:
    """What is left of a wait after so many seconds in which none was heard of. Never below 0."""
    return max(0.0, seconds - max(0.0, silent - seconds))


class FirstTokens:
    """Seconds from the send to the first token."""

    def __init__(self) -> None:
        self._n = 0.0
        self._tokens = self._seconds = self._tokens2 = self._product = 0.0
        self._heard_at = 0.0

    def heard(self, prompt_tokens: int, seconds: float, now: float) -> None:
        """One has come."""
        self._heard_at = max(self._heard_at, now)
        self._n = min(_MEMORY, self._n + 1.0)
        share = 1.0 / self._n
        tokens = float(prompt_tokens)
        self._tokens += share * (tokens - self._tokens)
        self._seconds += share * (seconds - self._seconds)
        self._tokens2 += share * (tokens * tokens - self._tokens2)
        self._product += share * (tokens * seconds - self._product)

    def foretold(self, prompt_tokens: int, now: float) -> float | None:
        """What one will take; None before any was seen. Never less than nothing.

        Where none was heard of for longer than that, less the time beyond: what stood before the
        engine is worked off. Were it not, a law that drops the hopeless would let nobody in again.
        """
        if self._n == 0.0:
            return None
        known = self._seconds + self._slope() * (prompt_tokens - self._tokens)
        return faded(known, now - self._heard_at)

    def _slope(self) -> float:
        """Seconds that one more prompt token adds."""
        spread = self._tokens2 - self._tokens**2
        if self._n < _FEW or spread <= 1e-4 * self._tokens2:
            return 0.0
        return max(0.0, (self._product - self._tokens * self._seconds) / spread)

"""A retry budget: retries may be a share of what was offered, and a few besides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """``tokens`` retries may be made now; None before the first request: the whole reserve."""

    tokens: float | None = None

    def held(self, reserve: float) -> float:
        """Retries that may be made now."""
        return reserve if self.tokens is None else self.tokens

    def earned(self, share: float, reserve: float) -> RetryBudget:
        """One more request was offered. No more than the reserve is saved up."""
        return RetryBudget(min(reserve, self.held(reserve) + share))

    def spent(self, reserve: float) -> RetryBudget | None:
        """One more retry, or None where there is nothing left."""
        held = self.held(reserve)
        return RetryBudget(held - 1.0) if held >= 1.0 else None

"""The ledger: what admitted requests have been promised of the KV cache and of prefill."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from schedulers.state import NOTHING

SHARE = 0.02
"""The least weight of a new length in a learned mean."""


class Length(NamedTuple):
    """Mean and variance of output tokens of one tier, learned from those that ended."""

    mean: float
    variance: float
    seen: int = 0

    def learned(self, tokens: float) -> Length:
        """One more length; the first few count as a plain mean with the assumption as three."""
        share = max(SHARE, 1.0 / (self.seen + 4))
        gap = tokens - self.mean
        return Length(
            self.mean + share * gap,
            (1.0 - share) * (self.variance + share * gap * gap),
            self.seen + 1,
        )


class Ledger(NamedTuple):
    """Sums over admitted requests that are not over; ``variance`` in tokens squared."""

    admitted: int = 0
    tokens: float = 0.0
    variance: float = 0.0
    prefill: float = 0.0
    lengths: Mapping[str, Length] = NOTHING

    def add(self, tokens: float, variance: float, prefill: float) -> Ledger:
        """A request was admitted."""
        return Ledger(
            self.admitted + 1,
            self.tokens + tokens,
            self.variance + variance,
            self.prefill + prefill,
            self.lengths,
        )

    def remove(self, tokens: float, variance: float, prefill: float) -> Ledger:
        """It is over. An empty ledger is exactly zero, so that roundings don't add up."""
        admitted = max(0, self.admitted - 1)
        if admitted == 0:
            return Ledger(lengths=self.lengths)
        return Ledger(
            admitted,
            max(0.0, self.tokens - tokens),
            max(0.0, self.variance - variance),
            max(0.0, self.prefill - prefill),
            self.lengths,
        )

    def prefilled(self, prefill: float) -> Ledger:
        """Its prompt has been computed."""
        left = max(0.0, self.prefill - prefill)
        return Ledger(self.admitted, self.tokens, self.variance, left, self.lengths)

    def length(self, tier: str, assumed: float) -> Length:
        """What is known of a tier's outputs; before that the assumption, spread as widely."""
        return self.lengths.get(tier, Length(assumed, assumed * assumed))

    def learned(self, tier: str, tokens: float, assumed: float) -> Ledger:
        """A request of that tier ended with so many output tokens."""
        if not math.isfinite(tokens) or tokens < 0:
            return self
        one = self.length(tier, assumed).learned(tokens)
        lengths = {**self.lengths, tier: one}
        return Ledger(self.admitted, self.tokens, self.variance, self.prefill, lengths)

    def peak(self, tokens: float, variance: float, z: float) -> float:
        """Tokens that all of them and one more may come to hold, z standard deviations up."""
        return self.tokens + tokens + z * math.sqrt(self.variance + variance)

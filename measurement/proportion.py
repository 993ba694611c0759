"""A share and what is known of it: Clopper–Pearson bounds, and how many more are needed."""

from __future__ import annotations

from dataclasses import dataclass

from measurement.beta import beta_quantile

CONFIDENCE = 0.95
_ENOUGH = 1 << 40


@dataclass(frozen=True, slots=True)
class Share:
    """``k`` of ``n``, worth ``effective_n`` independent ones."""

    k: int
    n: int
    effective_n: float

    @property
    def value(self) -> float | None:
        """The share itself; None of nothing."""
        return self.k / self.n if self.n else None

    def lower(self, confidence: float = CONFIDENCE) -> float:
        """One-sided lower bound."""
        return lower_bound(self._k, self.effective_n, confidence)

    def upper(self, confidence: float = CONFIDENCE) -> float:
        """One-sided upper bound."""
        return upper_bound(self._k, self.effective_n, confidence)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Two-sided, with half of what may go wrong on each side."""
        one_sided = (1 + confidence) / 2
        return self.lower(one_sided), self.upper(one_sided)

    def needed(self, target: float) -> int | None:
        """How many more, at this share and this dependence, until a bound clears the target.

        None when no number would do: the share is on the target, or nothing is known of it.
        """
        if not self.n or self.value == target:
            return None
        if self._clears(self.n, target):
            return 0
        enough = 2 * self.n
        while not self._clears(enough, target):
            enough *= 2
            if enough > _ENOUGH:
                return None
        low = enough // 2
        while enough - low > max(1, enough // 1000):
            middle = (low + enough) // 2
            low, enough = (low, middle) if self._clears(middle, target) else (middle, enough)
        return enough - self.n

    @property
    def _k(self) -> float:
        return self.k * self.effective_n / self.n if self.n else 0.0

    def _clears(self, n: int, target: float) -> bool:
        k, size = self._k * n / self.n, self.effective_n * n / self.n
        if self.k > target * self.n:
            return lower_bound(k, size, CONFIDENCE) >= target
        return upper_bound(k, size, CONFIDENCE) < target


def lower_bound(k: float, n: float, confidence: float) -> float:
    """Clopper–Pearson: the share that would give k of n or more with 1 − confidence."""
    return beta_quantile(1 - confidence, k, n - k + 1) if k > 0 else 0.0


def upper_bound(k: float, n: float, confidence: float) -> float:
    """Clopper–Pearson: the share that would give k of n or fewer with 1 − confidence."""
    return beta_quantile(confidence, k + 1, n - k) if k < n else 1.0

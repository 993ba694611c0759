"""The error budget of one run: what it may miss over its length, and what it has missed so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from measurement.proportion import Share


@dataclass(frozen=True, slots=True)
class RunBudget:
    """``elapsed``: the share of the run, from its warm-up on, that has passed; 1 at the end."""

    target: float
    judged: int
    missed: int
    elapsed: float = 1.0

    @classmethod
    def of(cls, joint: Share, target: float, *, elapsed: float = 1.0) -> Self:
        """From requests that met every objective, of those judged."""
        return cls(target, joint.n, joint.n - joint.k, min(1.0, max(0.0, elapsed)))

    @property
    def allowed(self) -> float | None:
        """Misses that the whole run may have, at the pace of requests so far."""
        return (1 - self.target) * self.judged / self.elapsed if self.elapsed > 0 else None

    @property
    def spent(self) -> float | None:
        """Share of that; over 1 the target can only be met by those that are left out."""
        return self.missed / self.allowed if self.allowed else None

    @property
    def burn(self) -> float | None:
        """How fast: 1 spends it exactly by the run's end."""
        return self.missed / self.judged / (1 - self.target) if self.judged else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "target": self.target,
            "n": self.judged,
            "missed": self.missed,
            "allowed": self.allowed,
            "spent": self.spent,
            "burn": self.burn,
            "elapsed": self.elapsed,
        }

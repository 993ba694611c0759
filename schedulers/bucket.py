"""A token bucket as a value: refilled by time, charged by reservation, settled by what was used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Bucket:
    """``level`` tokens at ``at``; below zero it owes. Rates and bursts are the caller's."""

    level: float
    at: float | None = None

    def refilled(self, now: float, rate: float, burst: float) -> Bucket:
        """Time has passed; a clock that went backward adds nothing and moves nothing."""
        if self.at is None:
            return replace(self, at=now)
        if not math.isfinite(now) or now <= self.at:
            return self
        return Bucket(min(burst, self.level + rate * (now - self.at)), now)

    def room(self, cost: float, burst: float) -> bool:
        """Whether it can be taken now; what is larger than the whole bucket needs it full."""
        return self.level >= min(cost, burst) - 1e-9

    def take(self, cost: float) -> Bucket:
        """Reserve; a cost above the level leaves a debt, paid off by time."""
        return replace(self, level=self.level - cost)

    def settle(self, reserved: float, used: float, burst: float) -> Bucket:
        """Give back what was reserved too much, or charge what was too little."""
        return replace(self, level=min(burst, self.level + reserved - used))

    def wait(self, cost: float, rate: float, burst: float) -> float:
        """Seconds until ``room``; infinity when nothing flows in."""
        short = min(cost, burst) - self.level
        if short <= 0.0:
            return 0.0
        return short / rate if rate > 0.0 else math.inf

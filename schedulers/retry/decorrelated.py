"""Decorrelated jitter: each wait is drawn up to three times the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedulers.law import Fault, Standing
from schedulers.retry.base import Failure, Rules, Verdict, retry_law
from schedulers.retry_budget import RetryBudget


@retry_law
@dataclass(frozen=True, slots=True)
class Decorrelated(Rules):
    """wait = min(Retry-After, its cap) + min(cap, U(base, 3 × previous wait)), in seconds."""

    name: ClassVar[str] = "decorrelated"
    summary: ClassVar[str] = (
        "Each wait is drawn between the base and three times the wait before it, on top of "
        "Retry-After; under a retry budget."
    )
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault("Never waits less than the base, so short refusals cost more than with full jitter."),
    )

    def failed(
        self, state: RetryBudget, failure: Failure, draw: float, now: float
    ) -> tuple[RetryBudget, Verdict]:
        base = self.base_ms / 1e3
        previous = failure.previous_wait
        most = max(base, 3.0 * (base if previous is None or not previous > 0.0 else previous))
        drawn = min(self.cap_ms / 1e3, base + draw * (most - base))
        return self.checked(state, failure, drawn, now)

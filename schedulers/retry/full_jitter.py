"""Full jitter on top of Retry-After, under a retry budget: the recommended retry law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedulers.law import Fault, Standing
from schedulers.retry.base import Failure, Rules, Verdict, retry_law
from schedulers.retry_budget import RetryBudget


@retry_law
@dataclass(frozen=True, slots=True)
class FullJitter(Rules):
    """wait = min(Retry-After, its cap) + U(0, min(cap, base × 2^(attempts − 1))), in seconds.

    Retry-After is a floor: drawn waits alone may be nearly zero and ignore what the engine asked.
    Not where the wait would end after the deadline, the budget is spent, the attempts are, or part
    of an answer was handed on. Source: Brooker, "Exponential Backoff And Jitter" (AWS, 2015).
    """

    name: ClassVar[str] = "full_jitter"
    summary: ClassVar[str] = (
        "Waits for Retry-After and a random share of an exponentially growing span on top, under a "
        "retry budget."
    )
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Without a Retry-After that tells the drain it must guess: 1,000 clients at a queue of "
            "100 take 5.7 attempts each, with 273 of them in one 100 ms (plant S13)."
        ),
    )

    def failed(
        self, state: RetryBudget, failure: Failure, draw: float, now: float
    ) -> tuple[RetryBudget, Verdict]:
        doublings = min(60, max(0, failure.attempts - 1))
        most = min(self.cap_ms, self.base_ms * 2.0**doublings) / 1e3
        return self.checked(state, failure, draw * most, now)

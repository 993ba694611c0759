"""What one decision costs: median µs of a step of every registered concurrency law.

    python -m benchmarks.decision_cost

The bar is 20 µs. Every fifth answer is slow and every fiftieth is a refusal, so that windows fill
and cuts happen; a limiter's own share is printed beside it.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind, laws
from schedulers.runtime.limiter import Limiter

STEPS = 50_000
BAR_US = 20.0


def observations() -> list[tuple[Observation, float]]:
    """The same history for every law."""
    found = []
    for i in range(STEPS):
        now = 10.0 + i * 0.01
        latency = 0.6 if i % 5 == 0 else 0.4
        kind = OutcomeKind.REJECTED if i % 50 == 49 else OutcomeKind.OK
        seen = Observation(
            started_at=now - latency, in_flight=64, kind=kind, latency=latency, ttft=latency / 4
        )
        found.append((seen, now))
    return found


def step_cost(law: ConcurrencyLaw[Any], history: list[tuple[Observation, float]]) -> list[float]:
    """Seconds of each step, the reading of the new limit included."""
    state, costs = law.start(), []
    for seen, now in history:
        began = time.perf_counter()
        state, _ = law.step(state, seen, now)
        law.limit(state)
        costs.append(time.perf_counter() - began)
    return costs


async def limiter_cost(law: ConcurrencyLaw[Any]) -> list[float]:
    """Seconds of taking and giving back one permit, the law's step included."""
    limiter, costs = Limiter(law, time.perf_counter), []
    for _ in range(STEPS):
        began = time.perf_counter()
        permit = limiter.try_acquire()
        assert permit is not None
        limiter.release(permit)
        costs.append(time.perf_counter() - began)
    return costs


def main() -> None:
    history = observations()
    print(f"{'law':24}{'step p50':>12}{'step p99':>12}{'permit p50':>12}   µs; bar {BAR_US:g}")
    for name, cls in laws.all().items():
        steps = step_cost(cls(), history)
        p99 = statistics.quantiles(steps, n=100)[98]
        permits = asyncio.run(limiter_cost(cls()))
        shown = (statistics.median(steps), p99, statistics.median(permits))
        print(f"{name:24}" + "".join(f"{1e6 * seconds:12.2f}" for seconds in shown))


if __name__ == "__main__":
    main()

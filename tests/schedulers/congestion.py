"""The congestion plant: bulk tasks through one law against a server that shares its capacity.

Work runs at full speed with up to 45 requests inside, n/45 times slower up to 55, then ever slower
up to 70, beyond which a request is refused after 50 ms. A client with a backlog keeps as many in
flight as the law allows; a refused task comes back after full jitter. Everything is seeded.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind

SAFE, QUEUEING, REFUSING = 45, 55, 70
SERVICE, TOP, REFUSAL = 0.4, 3.5, 0.05
OPTIMUM = SAFE / SERVICE
"""Tasks a second with 45 to 55 inside."""


def slowness(inside: int) -> float:
    """How many times longer work takes with that many inside."""
    if inside <= QUEUEING:
        return max(1.0, inside / SAFE)
    knee = QUEUEING / SAFE
    return knee + (TOP / SERVICE - knee) * (inside - QUEUEING) / (REFUSING - QUEUEING)


@dataclass
class Bulk:
    """What became of the tasks; ``limits`` holds the law's limit at every completion."""

    seconds: float = 0.0
    refused: int = 0
    limits: list[int] = field(default_factory=list)

    def of_optimum(self) -> float:
        """Throughput as a share of the best possible."""
        return len(self.limits) / self.seconds / OPTIMUM


def bulk(law: ConcurrencyLaw[Any], *, tasks: int, sigma: float, seed: int) -> Bulk:
    """Push that many tasks through; their work is lognormal with the same mean for every sigma."""
    rng = np.random.default_rng(seed)
    work = SERVICE * np.exp(rng.normal(0.0, 1.0, tasks) * sigma - sigma**2 / 2)
    backlog = deque((float(seconds), 0) for seconds in work)
    state, seen = law.start(), Bulk()
    now, progress, in_flight = 0.0, 0.0, 0
    inside: list[tuple[float, int, float]] = []  # (progress at its end, serial, started)
    later: list[tuple[float, int, Any]] = []  # (time, serial, a refusal or a task to try again)
    serial = 0
    while len(seen.limits) < tasks:
        while backlog and in_flight < law.limit(state):
            task, serial = backlog.popleft(), serial + 1
            in_flight += 1
            if len(inside) >= REFUSING:
                heapq.heappush(later, (now + REFUSAL, serial, ("refused", task, now)))
            else:
                heapq.heappush(inside, (progress + task[0], serial, now))
        pace = slowness(len(inside))
        ends = now + (inside[0][0] - progress) * pace if inside else np.inf
        if later and later[0][0] < ends:
            at, _, (what, task, started) = heapq.heappop(later)
            progress, now = progress + (at - now) / pace, at
            if what == "again":
                backlog.append(task)
                continue
            kind, latency = OutcomeKind.REJECTED, None
            seen.refused += 1
            wait = rng.uniform(0.0, min(8.0, 0.5 * 2 ** task[1]))
            heapq.heappush(later, (now + wait, serial, ("again", (task[0], task[1] + 1), now)))
        else:
            progress, _, started = heapq.heappop(inside)
            now, kind, latency = ends, OutcomeKind.OK, ends - started
            seen.limits.append(law.limit(state))
        ended = Observation(started_at=started, in_flight=in_flight, kind=kind, latency=latency)
        in_flight -= 1
        state, _ = law.step(state, ended, now)
    seen.seconds = now
    return seen

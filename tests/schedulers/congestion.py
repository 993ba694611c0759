"""Bulk tasks through one law against the congestion plant of the library."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from schedulers.concurrency.base import ConcurrencyLaw
from simulator.plants.congestion import Congestion
from simulator.plants.run import Load, run
from simulator.plants.work import Work

OPTIMUM = Congestion().optimum
"""Tasks a second with 45 to 55 inside."""


@dataclass(frozen=True)
class Bulk:
    """What became of the tasks; ``limits`` holds the law's limit at every completion."""

    seconds: float
    refused: int
    limits: list[int]

    def of_optimum(self) -> float:
        """Throughput as a share of the best possible."""
        return len(self.limits) / self.seconds / OPTIMUM


def bulk(law: ConcurrencyLaw[Any], *, tasks: int, sigma: float, seed: int) -> Bulk:
    """Push that many tasks through; their work is lognormal with the same mean for every sigma."""
    seen = run(Congestion(), Work(sigma=sigma), ((law, Load(tasks=tasks)),), seed=seed)
    client = seen.clients[0]
    changes = [at for at, _ in client.limits]
    limits = [client.limits[bisect_right(changes, at) - 1][1] for at in client.ended]
    return Bulk(seen.seconds, len(client.refused), limits)

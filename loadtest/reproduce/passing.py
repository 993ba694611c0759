"""Arrivals through one engine under a batching law, and what their latencies come to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from loadtest.simulation.inside import Batching
from schedulers.batching.base import BatchingLaw
from schedulers.runtime.deciding import Deciding
from simulator.core.config import EngineConfig
from simulator.core.hooks import Hooks, Taken
from simulator.plants.engine import TPOT_S, TTFT_S
from simulator.virtual import Arrival, Served
from simulator.virtual_stream import stream

LATELY_S = 5.0
Padded = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Played:
    """What became of the arrivals, and the longest step in which anybody decoded."""

    served: list[Served]
    longest_step_s: float


class Passing:
    """One engine, which is used once. ``graphs``: a law that pads steps."""

    def __init__(self, law: BatchingLaw[Any], config: EngineConfig, graphs: Any = None) -> None:
        self._config = config
        self._came: deque[float] = deque()
        self._inside = Batching(law, self._rate, Deciding(lambda: 0.0, lambda _: None))
        self._padded = self._padding(graphs)
        self.longest_step_s = 0.0

    def served(self, arrivals: Iterable[Arrival], seed: int) -> Iterator[Served]:
        """Each in the order of its arrival, once it and those before it are over."""
        hooks = Hooks(allow=self._inside.allow, taken=self._taken, padded=self._padded)
        yield from stream(self._counted(arrivals), self._config, seed=seed, hooks=hooks)

    def _counted(self, arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
        """Counted once it has been taken: until then the engine is before its time."""
        for arrival in arrivals:
            yield arrival
            self._came.append(arrival.at)

    def _padding(self, graphs: Any) -> Padded | None:
        if graphs is not None:
            return cache(lambda n: graphs.padded(n) or n)
        return self._inside.padded if self._inside.own_graphs else None

    def _taken(self, step: Taken) -> None:
        self._inside.taken(step)
        if step.decoding:
            self.longest_step_s = max(self.longest_step_s, step.seconds)

    def _rate(self, now: float) -> float | None:
        """Requests a second of late, as a host measures them."""
        came = self._came
        while came and came[0] < now - LATELY_S:
            came.popleft()
        return len(came) / min(LATELY_S, now) if came and now > 0.0 else None


def through(
    law: BatchingLaw[Any],
    config: EngineConfig,
    arrivals: Iterable[Arrival],
    seed: int,
    *,
    graphs: Any = None,
) -> Played:
    """All of them, kept."""
    passing = Passing(law, config, graphs)
    served = list(passing.served(arrivals, seed))
    return Played(served, passing.longest_step_s)


def latencies(served: Sequence[Served]) -> dict[str, float]:
    """Of those that were answered, in milliseconds."""
    first = [1e3 * one.ttft for one in served if one.ttft is not None]
    each = [1e3 * one.tpot for one in served if one.tpot is not None]
    return summed(first, each)


def summed(first: Sequence[float], each: Sequence[float]) -> dict[str, float]:
    """Mean and P99 to the first token, and mean time a token."""
    return {
        "ttft": float(np.mean(first)),
        "ttft99": float(np.quantile(first, 0.99)),
        "tpot": float(np.mean(each)),
    }


def in_time(one: Served) -> bool:
    """First token in 800 ms, 100 ms a token; a refused one isn't."""
    first = one.ttft is not None and one.ttft <= TTFT_S
    return first and one.finished and (one.tpot or 0.0) <= TPOT_S

"""The virtual host for loads that are too long to keep: each request is told of when it is over."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator

from simulator.core.config import EngineConfig
from simulator.core.engine import Engine
from simulator.core.hooks import NONE, Hooks
from simulator.core.request import Phase, Sequence
from simulator.virtual import Arrival, Served, add, served

_Open = tuple[int, Arrival, Sequence | str]


def stream(
    arrivals: Iterable[Arrival], config: EngineConfig, *, seed: int = 0, hooks: Hooks = NONE
) -> Iterator[Served]:
    """What ``virtual.replay`` gives, in the same order, each as soon as those before it are over.

    Arrivals are taken one by one, in order of time, and none leaves before its end; what is kept
    is what is in the engine. ValueError where one comes before the one in front of it.
    """
    engine = Engine(config, seed=seed, hooks=hooks)
    kept: deque[_Open] = deque()
    now = 0.0
    for place, arrival in enumerate(arrivals):
        if arrival.at < now or arrival.cancelled_at is not None:
            raise ValueError(f"arrival {place} at {arrival.at} is out of order, or leaves")
        now = arrival.at
        engine.run_until(now)
        kept.append((place, arrival, add(engine, arrival, place, now)))
        while kept and _over(kept[0]):
            yield served(*kept.popleft())
    engine.run_until(math.inf)
    for each in kept:
        yield served(*each)


def _over(one: _Open) -> bool:
    taken = one[2]
    return isinstance(taken, str) or taken.phase is Phase.FINISHED

"""The deadlines plant: one server, one request at a time, and an ordering law.

Poisson arrivals at a load, lognormal service (mean 0.1 s, σ 0.8), the first token due in 0.5, 2 or
10 s (30, 40, 30 %). The law sees sizes with an error. Attainment counts every arrival.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedulers.ordering.base import Backlog, OrderingLaw, Waiting, choose
from schedulers.request import Request
from simulator.plants.sizes import Lognormal, Sizes

MEAN_S, SIGMA = 0.1, 0.8
DUE_S = ((0.3, 0.5), (0.7, 2.0), (1.0, 10.0))
SIZES = Lognormal(SIGMA)
NOBODY = Backlog()
LONGEST = 2000
"""Without dropping, an overloaded queue grows for ever; from here on the run is cut off."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run showed: shares of all arrivals that were in time, dropped, and served at all, and
    ``longest_s``, the longest wait."""

    attained: float
    dropped: float
    served: float
    longest_s: float


def play(
    law: OrderingLaw[Any],
    load: float,
    seed: int,
    *,
    error: float = 0.0,
    requests: int = 6000,
    sizes: Sizes = SIZES,
) -> Kept:
    """One run; ``sizes`` of the services, in means."""
    arrived, services = _requests(load, seed, error, requests, sizes)
    state = law.start()
    queue: list[Waiting] = []
    now = longest = 0.0
    place = in_time = dropped = served = 0
    while place < len(arrived) or queue:
        if not queue:
            now = max(now, arrived[place].request.arrived_at)
        while place < len(arrived) and arrived[place].request.arrived_at <= now:
            state = law.arrived(state, arrived[place], NOBODY, now)
            queue.append(arrived[place])
            place += 1
        choice = choose(law, state, queue, now)
        one = None if choice.index is None else queue[choice.index]
        gone = {*choice.drop, *([] if choice.index is None else [choice.index])}
        queue = [other for i, other in enumerate(queue) if i not in gone]
        dropped += len(choice.drop)
        if one is not None:
            state = law.left(state, one, NOBODY, now)
            served += 1
            longest = max(longest, now - one.request.arrived_at)
            now += services[one.request.serial - 1]
            in_time += now <= (one.request.deadline_at or math.inf)
        if len(queue) > LONGEST:
            break
    count = len(arrived)
    return Kept(in_time / count, dropped / count, served / count, longest)


def _requests(
    load: float, seed: int, error: float, count: int, sizes: Sizes
) -> tuple[list[Waiting], list[float]]:
    rng = np.random.default_rng([seed, 16])
    at = np.cumsum(rng.exponential(MEAN_S / load, count)).tolist()
    services = (MEAN_S * sizes.draw(rng, count)).tolist()
    guesses = np.exp(rng.normal(0.0, 1.0, count) * error).tolist()
    kinds = rng.random(count).tolist()
    found = []
    for i in range(count):
        due = next(seconds for share, seconds in DUE_S if kinds[i] < share)
        request = Request(
            serial=i + 1,
            arrived_at=at[i],
            service_s=services[i] * guesses[i],
            deadline_at=at[i] + due,
        )
        found.append(Waiting(request=request))
    return found, services

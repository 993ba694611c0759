"""The retry storm: a thousand clients at once before a queue of a hundred; and the calm after.

Each client holds one retry law of its own and one request. The server takes 50 a second and tells
whoever it refuses when to come back, as Headway's waiting room does.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from schedulers.concurrency.base import OutcomeKind
from schedulers.retry.base import Failure, RetryLaw
from schedulers.runtime.leaving import Leaving

CLIENTS, RATE, QUEUE = 1000, 50.0, 100
IDEAL_S = CLIENTS / RATE


@dataclass(frozen=True, slots=True)
class Storm:
    """What a run showed. ``peak``: re-arrivals in the fullest 100 ms."""

    attempts: int
    served: int
    seconds: float
    peak: int


def storm(
    make: Callable[[], RetryLaw[Any]],
    seed: int,
    *,
    tell: Callable[[float], float | None] | None = None,
) -> Storm:
    """All clients arrive within 100 ms.

    ``tell``: the Retry-After in seconds that is said at a time, None for none; left out, it is what
    the waiting room says.
    """
    rng = np.random.default_rng([seed, 13])
    leaving = Leaving()
    for tick in range(1, 501):  # the engine was busy before: its rate is known
        leaving.left(tick / RATE - 10.0)
    laws = [make() for _ in range(CLIENTS)]
    states = [law.offered(law.start(), float(rng.random()), 0.0)[0] for law in laws]
    waits: list[float | None] = [None] * CLIENTS
    events = [(float(rng.random()) * 0.1, who, 1) for who in range(CLIENTS)]
    heapq.heapify(events)
    queue = last = ended = 0.0
    attempts = served = 0
    again = Counter[int]()
    while events:
        now, who, attempt = heapq.heappop(events)
        drained = min(queue, (now - last) * RATE)
        for _ in range(int(queue) - int(queue - drained)):
            leaving.left(now)
        queue, last = queue - drained, now
        attempts += 1
        again[int(now * 10)] += attempt > 1
        if queue < QUEUE:
            queue += 1.0
            served += 1
            ended = max(ended, now + queue / RATE)
            continue
        told = (tell or partial(_drain, leaving, int(queue), float(rng.random())))(now)
        failure = Failure(
            kind=OutcomeKind.REJECTED,
            attempts=attempt,
            retry_after=told,
            previous_wait=waits[who],
        )
        states[who], verdict = laws[who].failed(states[who], failure, float(rng.random()), now)
        if verdict.wait_s is not None:
            waits[who] = verdict.wait_s
            heapq.heappush(events, (now + verdict.wait_s, who, attempt + 1))
    return Storm(attempts, served, ended, max(again.values()))


def _drain(leaving: Leaving, waiting: int, draw: float, now: float) -> float:
    return leaving.come_back(now, waiting, draw, 30.0)


def steady(law: RetryLaw[Any], seed: int, requests: int = 5000, refused: float = 0.3) -> float:
    """Retries for each request of one client, a share of whose attempts is refused for ever."""
    rng = np.random.default_rng([seed, 14])
    state: Any = law.start()
    retries = 0
    for request in range(requests):
        now = float(request)
        state, own = law.offered(state, float(rng.random()), now)
        attempt = 1
        while own is None and rng.random() < refused:
            failure = Failure(kind=OutcomeKind.REJECTED, attempts=attempt, retry_after=1.0)
            state, verdict = law.failed(state, failure, float(rng.random()), now)
            if verdict.wait_s is None:
                break
            attempt += 1
            retries += 1
        else:
            state = law.succeeded(state, now)
    return retries / requests

"""The micro-wait plant: an engine that only prefills, in steps of 14 + n ms, and a batching law.

Poisson arrivals; while a step runs, others gather anyway. With ``decoding`` set, so many sequences
decode all the time: the plant then counts how often the law lets the engine wait all the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedulers.batching.base import BatchingLaw, Load, StepTaken

FIRST_S, EACH_S = 0.014, 0.001
TOKENS = 20
"""Prompt tokens of a request: few, so that budgets play no part."""


@dataclass(frozen=True, slots=True)
class Prefilled:
    """What a run showed. Seconds; ``busy`` is a share."""

    mean_ttft: float
    busy: float
    waits_while_decoding: int


def play(
    law: BatchingLaw[Any] | None,
    rate: float,
    seed: int,
    *,
    seconds: float = 200.0,
    decoding: int = 0,
) -> Prefilled:
    """One run at ``rate`` requests a second; ``law`` None never waits and takes up to 64."""
    rng = np.random.default_rng([seed, 12])
    arrivals = deque(np.cumsum(rng.exponential(1.0 / rate, int(rate * seconds))).tolist())
    state: Any = law.start() if law is not None else None
    queue: deque[float] = deque()
    now = total = busy = 0.0
    served = waits = 0
    while arrivals or queue:
        if not queue:
            now = max(now, arrivals[0])
        while arrivals and arrivals[0] <= now:
            queue.append(arrivals.popleft())
        size = 64
        if law is not None:
            load = _load(queue, now, rate, decoding)
            plan = law.plan(state, load, now)
            waits += plan.wait_s > 0.0 and decoding > 0
            if plan.wait_s > 0.0:
                until = now + plan.wait_s
                # Asked again at each arrival, as the protocol has it.
                now = min(until, arrivals[0]) if arrivals else until
                continue
            size = max(1, min(64, plan.max_sequences - decoding))
        batch = [queue.popleft() for _ in range(min(size, len(queue)))]
        took = FIRST_S + EACH_S * len(batch)
        now, busy, served = now + took, busy + took, served + len(batch)
        total += sum(now - at for at in batch)
        if law is not None:
            state = law.stepped(state, _taken(decoding, len(batch), took), now)
    return Prefilled(total / served, busy / now, waits)


def _taken(decoding: int, batch: int, seconds: float) -> StepTaken:
    tokens = TOKENS * batch
    return StepTaken(decoding=decoding, prefill_tokens=tokens, context_tokens=0, seconds=seconds)


def _load(queue: deque[float], now: float, rate: float, decoding: int) -> Load:
    return Load(
        decoding=decoding,
        waiting=len(queue),
        waiting_tokens=TOKENS * len(queue),
        oldest_wait=now - queue[0],
        arrival_rate=rate,
    )

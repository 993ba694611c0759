"""The batching source's day: 24 hours of chat before one 70B replica on eight A100s.

The source names rates: light under 5 a second, steady 20 to 60, overload over 100. The hours are
ours, and so are the lengths: short enough that the newer engine's overload does begin about there.
An hour is played as a minute. At most 256 requests are in the engine and more are refused, so what
one hour leaves behind is gone within seconds; the first quarter of an hour isn't counted by regime.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadtest.simulation.inside import Batching
from schedulers.batching.base import BatchingLaw
from schedulers.runtime.deciding import Deciding
from simulator.core.config import EngineConfig
from simulator.core.hooks import Hooks, Taken
from simulator.plants.engine import TPOT_S, TTFT_S, Chat
from simulator.profile import load
from simulator.virtual import Arrival, Served, replay

ENGINES: Mapping[str, str] = {
    "2024 engine": "llama3-70b-a100-tp8",
    "2023 engine": "llama2-70b-a100-tp8-eager",
}
CHAT = Chat(prompt=48.0, prompt_sigma=0.6, output=32.0, output_sigma=0.6)
HOURS = (
    4, 3, 2, 2, 3, 4, 10, 15, 25, 40, 55, 60, 50, 45, 120, 55, 50, 45, 40, 60, 140, 40, 20, 10,
)  # fmt: skip
"""Requests a second from midnight on."""
FEW_HOURS = (4, 25, 60, 120, 40)
REGIMES: Mapping[str, tuple[float, float]] = {
    "light": (0.0, 5.0),
    "steady": (20.0, 61.0),
    "overload": (100.0, math.inf),
}
MOST_INSIDE = 256
"""Back-pressure: waiting or running; who comes to more than that is refused."""
_LATELY_S = 5.0
_SETTLING = 0.25
"""Of an hour, in which what the hour before left behind is served."""


@dataclass(frozen=True, slots=True)
class Day:
    """``rates`` by the hour, each played for ``hour_s``."""

    rates: Sequence[float] = HOURS
    hour_s: float = 60.0

    def arrivals(self, seed: int, chat: Chat = CHAT) -> list[Arrival]:
        """Poisson within each hour."""
        rng = np.random.default_rng([seed, 19])
        counts = rng.poisson(np.array(self.rates, float) * self.hour_s)
        hours = np.repeat(np.arange(len(self.rates)), counts)
        times = np.sort((hours + rng.random(len(hours))) * self.hour_s)
        lengths = chat.draw(rng, len(times))
        return [
            Arrival(at, prompt, output)
            for at, (prompt, output) in zip(times.tolist(), lengths, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Played:
    """What became of the arrivals, and the longest step in which anybody decoded."""

    arrivals: list[Arrival]
    served: list[Served]
    longest_step_s: float


def engine(profile: str, **overrides: Any) -> EngineConfig:
    """A profile's engine behind the back-pressure of the day."""
    return load(profile).config(max_queued_requests=MOST_INSIDE, **overrides)


def through(
    law: BatchingLaw[Any],
    config: EngineConfig,
    arrivals: list[Arrival],
    seed: int,
    *,
    graphs: Any = None,
) -> Played:
    """The arrivals through one engine under a batching law; ``graphs``: a law that pads steps."""
    times = [arrival.at for arrival in arrivals]
    inside = Batching(law, lambda now: _rate(times, now), Deciding(lambda: 0.0, lambda _: None))
    longest = 0.0

    def taken(step: Taken) -> None:
        nonlocal longest
        inside.taken(step)
        if step.decoding:
            longest = max(longest, step.seconds)

    padded = None if graphs is None else (lambda n: graphs.padded(n) or n)
    if padded is None and inside.own_graphs:
        padded = inside.padded
    hooks = Hooks(allow=inside.allow, taken=taken, padded=padded)
    return Played(arrivals, replay(arrivals, config, seed=seed, hooks=hooks), longest)


def _rate(times: list[float], now: float) -> float | None:
    """Requests a second of late, as a host measures them."""
    came = bisect_right(times, now) - bisect_left(times, now - _LATELY_S)
    return came / min(_LATELY_S, now) if came and now > 0.0 else None


def told(day: Day, played: Played) -> dict[str, float]:
    """By regime of the hour of arrival: mean and P99 to the first token and mean time a token, in
    ms, output tokens a second; and of the whole day how many in a hundred were in time."""
    found: dict[str, float] = {}
    for name, (low, high) in REGIMES.items():
        hours = {hour for hour, rate in enumerate(day.rates) if low <= rate < high}
        here = [one for one in played.served if _counts(one.arrived_at / day.hour_s, hours)]
        found |= {f"{name} {key}": value for key, value in latencies(here).items()}
        said = sum(one.output_tokens for one in here if one.finished)
        asked = sum(played.arrivals[one.index].output_tokens for one in here)
        seconds = len(hours) * (1.0 - _SETTLING) * day.hour_s
        found[f"{name} output"] = said / seconds
        found[f"{name} offered"] = asked / seconds
    good = sum(in_time(one) for one in played.served)
    return found | {"in time": 100.0 * good / len(played.served)}


def _counts(at: float, hours: Container[int]) -> bool:
    """Whether a moment, in hours, is in one of them and not in its first quarter."""
    return int(at) in hours and at % 1.0 >= _SETTLING


def latencies(served: Sequence[Served]) -> dict[str, float]:
    """Of those that were answered, in milliseconds."""
    first = [1e3 * one.ttft for one in served if one.ttft is not None]
    each = [1e3 * one.tpot for one in served if one.tpot is not None]
    return {
        "ttft": float(np.mean(first)),
        "ttft99": float(np.quantile(first, 0.99)),
        "tpot": float(np.mean(each)),
    }


def in_time(one: Served) -> bool:
    """First token in 800 ms, 100 ms a token; a refused one isn't."""
    first = one.ttft is not None and one.ttft <= TTFT_S
    return first and one.finished and (one.tpot or 0.0) <= TPOT_S

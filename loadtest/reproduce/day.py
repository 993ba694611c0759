"""The batching source's day: 24 hours of chat before one 70B replica on eight A100s.

The source names rates: light under 5 a second, steady 20 to 60, overload over 100. The hours are
ours, and so are the lengths: short enough that the newer engine's overload does begin about there.
An hour is played as a minute unless a plan says otherwise. At most 256 requests are in the engine
and more are refused, so what one hour leaves behind is gone within seconds; the first quarter of an
hour isn't counted by regime.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.core.config import EngineConfig
from simulator.plants.engine import Chat
from simulator.profile import load
from simulator.virtual import Arrival

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
REAL_HOUR_S = 3600.0
SETTLING = 0.25
"""Of an hour, in which what the hour before left behind is served."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What comes: when, in order, and how long."""

    times: Sequence[float]
    lengths: Sequence[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Arrival]:
        for at, (prompt, output) in zip(self.times, self.lengths, strict=True):
            yield Arrival(at, prompt, output)


@dataclass(frozen=True, slots=True)
class Day:
    """``rates`` by the hour, each played for ``hour_s``."""

    rates: Sequence[float] = HOURS
    hour_s: float = 60.0

    @property
    def seconds(self) -> float:
        """How long all of it is played."""
        return len(self.rates) * self.hour_s

    def drawn(self, seed: int, chat: Chat = CHAT) -> Drawn:
        """Poisson within each hour."""
        rng = np.random.default_rng([seed, 19])
        counts = rng.poisson(np.array(self.rates, float) * self.hour_s)
        hours = np.repeat(np.arange(len(self.rates)), counts)
        times = np.sort((hours + rng.random(len(hours))) * self.hour_s)
        return Drawn(times.tolist(), chat.draw(rng, len(times)))

    def arrivals(self, seed: int, chat: Chat = CHAT) -> list[Arrival]:
        """The same, all at once."""
        return list(self.drawn(seed, chat))

    def regime_of(self, at: float) -> str | None:
        """Whose numbers a moment counts for; None: of an hour between regimes, or its start."""
        hour = at / self.hour_s
        if hour % 1.0 < SETTLING or hour >= len(self.rates):
            return None
        rate = self.rates[int(hour)]
        return next((name for name, (low, high) in REGIMES.items() if low <= rate < high), None)

    def hour_of(self, at: float) -> int:
        """Which one a moment is in."""
        return min(int(at / self.hour_s), len(self.rates) - 1)

    def counted_s(self, regime: str) -> float:
        """Seconds that count for a regime."""
        low, high = REGIMES[regime]
        hours = sum(low <= rate < high for rate in self.rates)
        return hours * (1.0 - SETTLING) * self.hour_s


def engine(profile: str, **overrides: Any) -> EngineConfig:
    """A profile's engine behind the back-pressure of the day."""
    return load(profile).config(max_queued_requests=MOST_INSIDE, **overrides)

"""A day's numbers, summed as its requests end: a whole one has more than three million."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadtest.reproduce.curve import points
from loadtest.reproduce.day import REGIMES, Day, Drawn
from loadtest.reproduce.passing import Passing, in_time, summed
from schedulers.batching.base import BatchingLaw
from simulator.core.config import EngineConfig
from simulator.virtual import Served

_TELL_EVERY = 4096
"""Requests between two words on how far it is."""


@dataclass(slots=True)
class _Regime:
    """Milliseconds of those that were answered, tokens that were said and asked for."""

    first: array[float] = field(default_factory=lambda: array("d"))
    each: array[float] = field(default_factory=lambda: array("d"))
    said: int = 0
    asked: int = 0

    def add(self, one: Served, asked: int) -> None:
        self.asked += asked
        if one.finished:
            self.said += one.output_tokens
        if one.ttft is not None:
            self.first.append(1e3 * one.ttft)
        if one.tpot is not None:
            self.each.append(1e3 * one.tpot)


@dataclass(slots=True)
class _Hour:
    """All that came in it, its start included."""

    came: int = 0
    good: int = 0
    answered: int = 0
    first_ms: float = 0.0

    def add(self, one: Served) -> None:
        self.came += 1
        self.good += in_time(one)
        if one.ttft is not None:
            self.answered += 1
            self.first_ms += 1e3 * one.ttft

    @property
    def ttft(self) -> float:
        """Mean, in ms; infinity where nobody had an answer."""
        return self.first_ms / self.answered if self.answered else math.inf

    @property
    def in_time(self) -> float:
        """Of those that came, in %; infinity where nobody came."""
        return 100.0 * self.good / self.came if self.came else math.inf


class DaySums:
    """By regime of the hour of arrival: mean and P99 to the first token and mean time a token, in
    ms, output tokens a second. Of the whole day and of each hour: how many in a hundred were in
    time."""

    def __init__(self, day: Day, lengths: Sequence[tuple[int, int]]) -> None:
        self._day = day
        self._lengths = lengths
        self._regimes = {name: _Regime() for name in REGIMES}
        self._good = self._all = 0
        self._hours = [_Hour() for _ in day.rates]

    def add(self, one: Served) -> None:
        """One is over, or was refused."""
        self._all += 1
        self._good += in_time(one)
        self._hours[self._day.hour_of(one.arrived_at)].add(one)
        regime = self._day.regime_of(one.arrived_at)
        if regime is not None:
            self._regimes[regime].add(one, self._lengths[one.index][1])

    def told(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, regime in self._regimes.items():
            latencies = summed(regime.first, regime.each)
            found |= {f"{name} {key}": value for key, value in latencies.items()}
            seconds = self._day.counted_s(name)
            found[f"{name} output"] = regime.said / seconds
            found[f"{name} offered"] = regime.asked / seconds
        found |= points("hour ttft", [hour.ttft for hour in self._hours])
        found |= points("hour in time", [hour.in_time for hour in self._hours])
        return found | {"in time": 100.0 * self._good / self._all}


@dataclass(frozen=True, slots=True)
class Strategy:
    """A batching law, and one that pads steps where the first doesn't."""

    law: BatchingLaw[Any]
    graphs: Any = None


def play(
    day: Day,
    drawn: Drawn,
    strategy: Strategy,
    config: EngineConfig,
    seed: int,
    tell: Callable[[float], None] = lambda _: None,
) -> dict[str, float]:
    """The day under one strategy; ``tell`` hears now and then what share of it is over."""
    sums = DaySums(day, drawn.lengths)
    served = Passing(strategy.law, config, strategy.graphs).served(drawn, seed)
    for one in _telling(served, day, tell):
        sums.add(one)
    return sums.told()


def _telling(served: Iterable[Served], day: Day, tell: Callable[[float], None]) -> Iterable[Served]:
    for one in served:
        if one.index % _TELL_EVERY == 0:
            tell(one.arrived_at / day.seconds)
        yield one

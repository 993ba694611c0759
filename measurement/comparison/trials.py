"""Simulated comparisons with a known truth: what the method is held to, and what fails beside it.

A block's state is a log latency: load that both lanes share, a state of each lane's own (both
autocorrelated), an offset between the lanes for good, and a trend over the day. A request is bad
when its latency passes a threshold that ``base`` of the baseline's pass at rest, or by an error.
Counts are drawn given the state, so each run's own true gap is known, block by block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPREAD = 0.6
"""σ of one request's log latency about its block's state."""
LOAD = 0.25
PARETO_INDEX = 1.5
BURST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Conditions:
    """One cell of the grid."""

    correlation: float = 0.9
    """ρ of one block's state with the next one's."""
    lane_spread: float = 0.12
    """σ of a lane's own state."""
    lane_offset: float = 0.08
    """σ of the difference between lanes that stays for the whole run."""
    requests: int = 60
    """Mean requests an arm and block."""
    tail: str = "lognormal"
    base: float = 0.05
    """The baseline's share of bad requests at rest."""
    trend: float = 0.0
    """Amplitude of the day in log latency; lane P feels half as much again."""
    bursts: float = 0.0
    """Chance that a lane fails half of its requests in a block, whoever runs there."""
    switchback: bool = False
    """One engine in pairs of slots, instead of two lanes."""
    latency: float = 0.0
    """What the candidate adds to the log latency."""
    errors: float = 0.0
    """What the candidate adds to the share of bad requests."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Counts of many runs, a row each, and the true gap in each block."""

    baseline_n: Array
    baseline_bad: Array
    candidate_n: Array
    candidate_bad: Array
    truth: Array

    @property
    def differences(self) -> Array:
        """D of every block."""
        return self.candidate_bad / self.candidate_n - self.baseline_bad / self.baseline_n

    @property
    def running_truth(self) -> Array:
        """The mean true gap of the blocks so far."""
        mean: Array = np.cumsum(self.truth, axis=1) / np.arange(1, self.truth.shape[1] + 1)
        return mean

    def first(self, blocks: int) -> Runs:
        """The same runs, ended after that many blocks."""
        return Runs(*(getattr(self, field.name)[:, :blocks] for field in fields(self)))

    @property
    def bad_so_far(self) -> Array:
        """Bad events of both arms together."""
        total: Array = np.cumsum(self.baseline_bad + self.candidate_bad, axis=1)
        return total


def simulate(
    under: Conditions, runs: int, blocks: int, rng: np.random.Generator, *, swap: bool = True
) -> Runs:
    """Runs with a lane (or an order) drawn for each block, or with the candidate on Q throughout.

    In a switchback P and Q are the pair's first and second slot.
    """
    shape = (runs, blocks)
    states = (_slots if under.switchback else _lanes)(under, shape, rng)
    failing = [rng.random(shape) < under.bursts for _ in states]
    own = [_share(under, state, fails) for state, fails in zip(states, failing, strict=True)]
    changed = [
        _share(under, state + under.latency, fails, under.errors)
        for state, fails in zip(states, failing, strict=True)
    ]
    on_p = rng.random(shape) < 0.5 if swap else np.zeros(shape, dtype=bool)
    baseline_n, candidate_n = (_offered(under.requests, shape, rng) for _ in "AB")
    return Runs(
        baseline_n=baseline_n.astype(float),
        baseline_bad=rng.binomial(baseline_n, np.where(on_p, own[1], own[0])).astype(float),
        candidate_n=candidate_n.astype(float),
        candidate_bad=rng.binomial(candidate_n, np.where(on_p, *changed)).astype(float),
        truth=(changed[0] + changed[1] - own[0] - own[1]) / 2,
    )


def _lanes(
    under: Conditions, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[Array, Array]:
    """The states of P and Q in each block."""
    day = under.trend * np.sin(2 * np.pi * np.arange(shape[1]) / shape[1])
    load = _autocorrelated(shape, LOAD, under.correlation, rng) + day
    p, q = (_autocorrelated(shape, under.lane_spread, under.correlation, rng) for _ in "PQ")
    offset = under.lane_offset * rng.standard_normal((shape[0], 1))
    return load + p + offset + day / 2, load + q


def _slots(
    under: Conditions, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[Array, Array]:
    """The states of one engine in the first and in the second slot of each pair."""
    twice = shape[0], 2 * shape[1]
    day = under.trend * np.sin(2 * np.pi * np.arange(twice[1]) / twice[1])
    load = _autocorrelated(twice, LOAD, under.correlation, rng) + day
    return load[:, ::2], load[:, 1::2]


def _offered(mean: int, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
    return np.maximum(rng.poisson(mean, shape), 1)


def _autocorrelated(
    shape: tuple[int, int], spread: float, correlation: float, rng: np.random.Generator
) -> Array:
    """Stationary series of the first order."""
    fresh = spread * rng.standard_normal(shape)
    innovation = math.sqrt(1 - correlation**2)
    series = np.empty(shape)
    series[:, 0] = fresh[:, 0]
    for block in range(1, shape[1]):
        series[:, block] = correlation * series[:, block - 1] + innovation * fresh[:, block]
    return series


def _share(
    under: Conditions, state: Array, failing: NDArray[np.bool_], errors: float = 0.0
) -> Array:
    """The share of bad requests in a state."""
    if under.tail == "pareto":
        late = np.minimum(1.0, under.base * np.exp(PARETO_INDEX * state))
    else:
        rest = math.sqrt(SPREAD**2 + LOAD**2 + under.lane_spread**2)
        limit = -rest * NormalDist().inv_cdf(under.base)
        late = _upper_tail((limit - state) / SPREAD)
    bad = 1 - (1 - late) * (1 - errors)
    bad[failing] = 1 - (1 - bad[failing]) * (1 - BURST_SHARE)
    return bad


@lru_cache(maxsize=1)
def _tail_table() -> tuple[Array, Array]:
    points = np.linspace(-8.0, 8.0, 8001)
    return points, np.array([math.erfc(x / math.sqrt(2)) / 2 for x in points])


def _upper_tail(x: Array) -> Array:
    """1 − Φ, to seven digits."""
    tail: Array = np.interp(x, *_tail_table())
    return tail

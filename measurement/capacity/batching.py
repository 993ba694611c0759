"""The batching balance: how many sequences an engine runs at a load, when each slows the others.

A step with n sequences and P prompt tokens takes t0 + t1·n + t_p·P. In steady state λE[O] tokens
leave and λE[I] prompt tokens enter per second, so

    n = λE[O]·t0 / (1 − λE[I]·t_p − λE[O]·t1)

which has no solution from 1/(E[I]t_p + E[O]t1) requests/s on. The KV cache and the limit on
sequences cap n before that. A naive λE[residence] is this n, not a utilisation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter

import numpy as np

from measurement.capacity.estimate import Estimate
from measurement.capacity.observed import Observed

FOLLOWS = 0.95
"""Served over offered, from which on a load is one that the engine carries."""
APART = 0.2
"""By how much ratios of prompt to output must differ to tell prefill and decode apart."""
METHOD = "batching balance"
ASSUMES = (
    "a step's time is a line in sequences and in prompt tokens",
    "mean lengths stand for all, and the batch is long in steady state",
    "no preemption, and no prefix is reused",
)


@dataclass(frozen=True, slots=True)
class Steps:
    """Seconds of a step: at all, per sequence that decodes in it, per prompt token in it."""

    fixed: float
    per_sequence: float
    per_prompt_token: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """Mean tokens of a request, and what a running one holds of the KV cache on average."""

    prompt: float
    output: float
    context: float

    @classmethod
    def of(cls, point: Observed) -> Lengths | None:
        """From measured moments; E[O(I + O/2)] / E[O], since long answers stay longer."""
        found = point.moments
        if found is None or not found.output or found.prompt is None:
            return None
        if found.product is None or found.output_square is None:
            return None
        context = (found.product + found.output_square / 2) / found.output
        return cls(found.prompt, found.output, context)


@dataclass(frozen=True, slots=True)
class Caps:
    """What bounds the batch besides time. None: not known."""

    sequences: int | None = None
    kv_tokens: int | None = None

    def most(self, lengths: Lengths) -> tuple[float, str]:
        """The most sequences at a time, and what says so."""
        caps = [(math.inf, "nothing that is known")]
        if self.sequences is not None:
            caps.append((float(self.sequences), "the limit on sequences"))
        if self.kv_tokens is not None:
            caps.append((self.kv_tokens / lengths.context, "the KV cache"))
        return min(caps)


def running(rate: float, lengths: Lengths, steps: Steps) -> float:
    """n at that load, before caps; infinite where the balance has no solution."""
    left = 1 - rate * _work(lengths, steps)
    return rate * lengths.output * steps.fixed / left if left > 0 else math.inf


def step_time(rate: float, lengths: Lengths, steps: Steps) -> float:
    """Seconds of a step at that load: what TPOT is; infinite past the balance."""
    return running(rate, lengths, steps) / (rate * lengths.output) if rate else steps.fixed


def largest_rate(
    lengths: Lengths, steps: Steps, caps: Caps, *, measured: float | None = None
) -> Estimate:
    """Requests/s at which n reaches its cap, or at which time itself runs out.

    ``measured`` is the knee, where there is one. Steps that grow faster than a line, as those of
    most GPUs do once matrices outweigh weights, make the number too high.
    """
    most, cause = caps.most(lengths)
    work = _work(lengths, steps)
    if math.isinf(most):
        value, cause = (1 / work if work else None), "the time of steps"
    else:
        value = most / (lengths.output * steps.fixed + most * work)
    return Estimate(
        method=METHOD,
        what="most requests/s",
        value=value,
        assumes=ASSUMES,
        measured=measured,
        note=f"capped by {cause}",
    )


def sequences(point: Observed, steps: Steps, caps: Caps) -> Estimate:
    """n at a measured load, against the sequences that got tokens there."""
    lengths = Lengths.of(point)
    if lengths is None:
        told = "the run tells no lengths"
        return Estimate(METHOD, "sequences at a time", None, ASSUMES, note=told)
    most, cause = caps.most(lengths)
    value = running(point.served, lengths, steps)
    note = f"capped by {cause}" if value > most else ""
    capped = min(value, most)
    return Estimate(
        method=METHOD,
        what="sequences at a time",
        value=None if math.isinf(capped) else capped,
        assumes=ASSUMES,
        measured=point.decoding,
        note="past what the balance can carry" if math.isinf(capped) else note,
    )


def fit(points: Sequence[Observed]) -> Steps | None:
    """t0, t1 and t_p from steps measured at several loads, none below zero; None of under two.

    Least squares on T = t0 + t1·n + t_p·(λE[I]T), each point relative to its T. Only loads that
    throughput followed count: elsewhere nothing is in steady state. Of one workload the last two
    columns are proportional, so one slope holds both: t_p is then 0, and t1 carries prefill. Two
    workloads whose ratio of prompt to output differs tell them apart.
    """
    rows = [row for row in map(_row, points) if row is not None]
    if len({round(row[1], 6) for row in rows}) < 2:
        return None
    given = np.array(rows)
    times = given[:, 0]
    weighted = np.column_stack((np.ones(len(rows)), given[:, 1:])) / times[:, None]
    ratios = given[:, 2] / given[:, 1]
    apart = len(rows) >= 3 and ratios.max() > (1 + APART) * ratios.min()
    free = 3 if apart else 2
    sets = [c for size in range(1, free + 1) for c in combinations(range(free), size)]
    return Steps(*min((_solved(weighted, columns) for columns in sets), key=itemgetter(0))[1])


def _solved(design: np.ndarray, columns: tuple[int, ...]) -> tuple[float, tuple[float, ...]]:
    """Squared relative error and coefficients with the other columns at zero."""
    ones = np.ones(len(design))
    found, *_ = np.linalg.lstsq(design[:, columns], ones, rcond=None)
    if (found < 0).any():
        return math.inf, (0.0, 0.0, 0.0)
    full = [0.0, 0.0, 0.0]
    for column, value in zip(columns, found.tolist(), strict=True):
        full[column] = value
    residual = ones - design @ np.array(full)
    return float(residual @ residual), tuple(full)


def _row(point: Observed) -> tuple[float, float, float] | None:
    lengths, n = Lengths.of(point), point.decoding
    step = point.moments.step if point.moments else None
    followed = point.served >= FOLLOWS * point.rate
    if lengths is None or n is None or not step or not followed:
        return None
    return step, n, point.served * lengths.prompt * step


def _work(lengths: Lengths, steps: Steps) -> float:
    """Seconds that a request adds to the engine's steps."""
    return lengths.prompt * steps.per_prompt_token + lengths.output * steps.per_sequence

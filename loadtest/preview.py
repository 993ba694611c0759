"""What a scenario would send, from the very schedule that a run of it computes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadtest.scenario import Scenario
from loadtest.schedule import Schedule
from loadtest.workloads.base import Lengths

_POINTS = 60
_BARS = 24
_LOOKED_AT = 20_000
"""Requests whose lengths are drawn for a preview; totals of more are scaled up from these."""
_CLOSED_LOOK = 2_000


@dataclass(frozen=True, slots=True)
class Bar:
    """Requests whose length lies from ``low`` to ``high``, both included."""

    low: int
    high: int
    count: int


@dataclass(frozen=True, slots=True)
class Preview:
    """``requests`` and token totals are None for a closed loop: only the engine can tell."""

    requests: int | None
    prompt_tokens: int | None
    output_tokens: int | None
    exact: bool
    """Whether every request was looked at; else totals are scaled from the first ones."""
    mean_prompt_tokens: float
    mean_output_tokens: float
    rate: tuple[tuple[float, float], ...]
    """(seconds, requests per second) over equal steps; empty for a closed loop."""
    concurrency: int | None
    prompt_lengths: tuple[Bar, ...]
    output_lengths: tuple[Bar, ...]
    tenants: Mapping[str, float]
    """Share of the requests looked at, by tenant."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for a page."""
        return dataclasses.asdict(self)


def preview(given: object) -> Preview:
    """A preview of a scenario document; DocumentError names its faults."""
    return preview_of(Scenario.parse(given))


def preview_of(scenario: Scenario) -> Preview:
    """A preview of a parsed scenario."""
    schedule = Schedule(
        scenario.arrivals,
        scenario.workload,
        duration=scenario.duration_s,
        seed=scenario.seed,
        sessions=True,
    )
    total = schedule.offered
    looked = min(total, _LOOKED_AT) if total is not None else _CLOSED_LOOK
    shapes = [schedule.shape(index) for index in range(looked)]
    prompts = np.array([shape.prompt_tokens for shape in shapes], dtype=np.int64)
    outputs = np.array([shape.output_tokens for shape in shapes], dtype=np.int64)
    closed = schedule.closed_loop
    return Preview(
        requests=total,
        prompt_tokens=_scaled(prompts, total),
        output_tokens=_scaled(outputs, total),
        exact=total == looked,
        mean_prompt_tokens=_mean(prompts),
        mean_output_tokens=_mean(outputs),
        rate=() if closed else _rate(schedule),
        concurrency=closed.concurrency if closed else None,
        prompt_lengths=_bars(prompts),
        output_lengths=_bars(outputs),
        tenants=_shares(shape.tenant for shape in shapes),
    )


def _scaled(lengths: Lengths, total: int | None) -> int | None:
    if total is None:
        return None
    return round(float(lengths.sum()) / len(lengths) * total) if len(lengths) else 0


def _mean(lengths: Lengths) -> float:
    return float(lengths.mean()) if len(lengths) else 0.0


def _rate(schedule: Schedule) -> tuple[tuple[float, float], ...]:
    """Arrivals counted in steps of at least a second, so that no step shows mere noise as rate."""
    steps = max(1, min(_POINTS, math.floor(schedule.duration)))
    counts, edges = np.histogram(schedule.instants, bins=steps, range=(0, schedule.duration))
    width = schedule.duration / steps
    return tuple(
        (round(start, 6), count / width)
        for start, count in zip(edges.tolist(), counts.tolist(), strict=False)
    )


def _bars(lengths: Lengths) -> tuple[Bar, ...]:
    """A histogram with bars of whole tokens; one bar where all lengths are equal."""
    if not len(lengths):
        return ()
    low, high = int(lengths.min()), int(np.percentile(lengths, 99.5))
    width = max(1, math.ceil((high - low + 1) / _BARS))
    places = np.minimum((lengths - low) // width, (high - low) // width)
    counts = np.bincount(places)
    last = len(counts) - 1
    return tuple(
        Bar(
            low + place * width,
            int(lengths.max()) if place == last else low + (place + 1) * width - 1,
            int(count),
        )
        for place, count in enumerate(counts)
    )


def _shares(tenants: Iterable[str]) -> dict[str, float]:
    names, counts = np.unique(list(tenants), return_counts=True)
    total = max(1, int(counts.sum()))
    pairs = zip(names.tolist(), counts.tolist(), strict=True)
    return {str(name): count / total for name, count in pairs}

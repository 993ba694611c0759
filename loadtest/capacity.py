"""The highest rate that an engine of the model serves within an SLO, and the options that raise it.

Each trial replays a Poisson load of the workload and judges every request by the SLO; the rate is
doubled until the target is missed, then halved in. The same seed gives the same answer. A trial
has no limiter before it: what is searched are the engine's own options.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest.arrivals.base import OpenLoop, processes
from loadtest.schedule import Schedule
from loadtest.workloads.base import Workload
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
from measurement.slo import Slo
from simulator.core.config import EngineConfig
from simulator.profile import Profile
from simulator.virtual import Arrival, Served, replay

OPTIONS = {
    "batching.token_budget": "token_budget",
    "max_seqs": "max_seqs",
    "long_prefill_threshold": "long_prefill_threshold",
    "blocks": "blocks",
    "watermark": "watermark",
}
"""What may be searched, by the name that documents use, and its field of EngineConfig."""
_LOWEST, _HIGHEST = 0.05, 2_000.0
_HALVINGS = 6
_NEEDS_GAPS = {"itl_ms", "ttfat_ms", "longest_gap_ms"}
"""Metrics that a replay doesn't keep the times for."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is asked. ``duration`` is how many seconds of load one trial has."""

    profile: Profile
    workload: Workload
    slo: Slo
    duration: float = 120.0
    seed: int = 1

    def __post_init__(self) -> None:
        asked = {item.metric for item in self.slo.objectives} & _NEEDS_GAPS
        if asked:
            message = "is no metric that this search can judge: it keeps no times between tokens"
            raise DocumentError([Problem("slo", min(asked), message)])


@dataclass(frozen=True, slots=True)
class Found:
    """``rate`` in requests per second meets the target with ``attainment``; 0: no rate does."""

    options: Mapping[str, Any]
    rate: float
    attainment: float
    refused: str = ""
    """Why these options make no engine."""


def grid(axes: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of the values of some options; DocumentError where one isn't known."""
    unknown = [name for name in axes if name not in OPTIONS]
    if unknown:
        message = f"can't be searched; known: {', '.join(OPTIONS)}"
        raise DocumentError([Problem("over", unknown[0], message)])
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def capacity(search: Search, options: Mapping[str, Any]) -> Found:
    """The highest rate within the SLO's target, to within 2 %, for one set of options."""
    try:
        config = search.profile.config(**{OPTIONS[name]: to for name, to in options.items()})
    except DocumentError as error:
        return Found(options, 0.0, 0.0, str(error.problems[0]))
    low, high, best = 0.0, 1.0, 0.0
    while (found := attainment(search, config, high)) >= search.slo.target and high < _HIGHEST:
        low, best, high = high, found, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle < _LOWEST:
            break
        found = attainment(search, config, middle)
        if found >= search.slo.target:
            low, best = middle, found
        else:
            high = middle
    return Found(options, low, best)


def attainment(search: Search, config: EngineConfig, rate: float) -> float:
    """The share of requests of a Poisson load that meet every objective."""
    process: Any = processes.get("poisson")(rate=rate)  # type: ignore[call-arg]
    assert isinstance(process, OpenLoop)  # noqa: S101 - it is one
    schedule = Schedule(process, search.workload, duration=search.duration, seed=search.seed)
    shapes = [
        (job.intended_at, job.shape.prompt_tokens, job.shape.output_tokens)
        for job in schedule.jobs()
    ]
    served = replay(
        [
            Arrival(at, prompt, output)
            for at, prompt, output in shapes
            if prompt + output <= config.max_model_len
        ],
        config,
        seed=search.seed,
    )
    met = sum(search.slo.judge(_sample(one)).met for one in served)
    return met / len(shapes) if shapes else 1.0


def _sample(served: Served) -> Sample:
    """What the SLO needs to know of one answer."""
    return Sample(
        index=served.index,
        tenant="default",
        intended_at=served.arrived_at,
        outcome=Outcome.TRUNCATED if served.finished else Outcome.REJECTED_503,
        sent_at=served.arrived_at,
        first_token_at=served.first_token_at,
        last_token_at=served.last_token_at,
        done_at=served.last_token_at,
        prompt_tokens=served.prompt_tokens,
        output_tokens=served.output_tokens,
        token_source=TokenSource.USAGE,
        first_chunk_tokens=1,
    )

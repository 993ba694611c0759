"""A trace in the place of an arrival process and a workload. Neither can be named in a document:
a document must never make whoever reads it open a file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from documents.fields import parameter
from loadtest import prompts
from loadtest.arrivals.base import Instants
from loadtest.schedule import Job
from loadtest.traces.base import Traced, read_trace
from loadtest.workloads.base import DEFAULT_TENANT, Lengths, Shape


@dataclass(frozen=True, slots=True)
class Trace:
    """A file that was read, and how fast it is replayed."""

    name: str
    sha256: str
    requests: tuple[Traced, ...] = field(repr=False)

    @classmethod
    def of(cls, path: Path, *, speed: float = 1.0) -> Trace:
        """A file's requests, ``speed`` times as fast."""
        requests = tuple(dataclasses.replace(each, at=each.at / speed) for each in read_trace(path))
        return cls(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), requests)

    def jobs(self) -> list[Job]:
        """Its requests as a schedule holds them."""
        return [
            Job(place, each.at, Shape(each.prompt_tokens, each.output_tokens, DEFAULT_TENANT))
            for place, each in enumerate(self.requests)
        ]


@dataclass(frozen=True, slots=True)
class TraceArrivals:
    """The instants of a trace."""

    name: ClassVar[str] = "trace"
    summary: ClassVar[str] = "The instants of a recorded trace."
    open_loop: ClassVar[bool] = True

    file: str = parameter(help="name of the file")
    sha256: str = parameter(help="hash of the file")
    at: Instants = field(init=False, repr=False, compare=False)

    @classmethod
    def of(cls, trace: Trace) -> TraceArrivals:
        """The instants of this one."""
        made = cls(trace.name, trace.sha256)
        object.__setattr__(made, "at", np.array([each.at for each in trace.requests]))
        return made

    def expected(self, duration: float) -> float:
        return float(len(self.instants(duration, np.random.default_rng(0))))

    def instants(self, duration: float, rng: np.random.Generator) -> Instants:  # noqa: ARG002
        return self.at[self.at < duration]

    def dispersion(self) -> float:
        """A trace promises no process."""
        return math.nan


@dataclass(frozen=True, slots=True)
class TraceWorkload:
    """The lengths of a trace, by the place of a request in it."""

    name: ClassVar[str] = "trace"
    summary: ClassVar[str] = "The lengths of a recorded trace."

    file: str = parameter(help="name of the file")
    requests: int = parameter(unit="requests", help="how many the trace holds")
    prompt_tokens_mean: float = parameter(unit="tokens", help="mean prompt")
    output_tokens_mean: float = parameter(unit="tokens", help="mean answer")

    @property
    def tenants(self) -> Mapping[str, float]:
        return {}

    def prompt_lengths(self, count: int, rng: np.random.Generator) -> Lengths:  # noqa: ARG002
        return np.full(count, round(self.prompt_tokens_mean), dtype=np.int64)

    def output_lengths(self, count: int, rng: np.random.Generator) -> Lengths:  # noqa: ARG002
        return np.full(count, round(self.output_tokens_mean), dtype=np.int64)

    def prompt(self, shape: Shape, rng: np.random.Generator) -> str:
        return prompts.fresh(shape.prompt_tokens, rng)


def parts(trace: Trace) -> tuple[TraceArrivals, TraceWorkload]:
    """What stands in a scenario for a trace."""
    prompt, output = (
        float(np.mean([getattr(each, name) for each in trace.requests]))
        for name in ("prompt_tokens", "output_tokens")
    )
    workload = TraceWorkload(trace.name, len(trace.requests), prompt, output)
    return TraceArrivals.of(trace), workload

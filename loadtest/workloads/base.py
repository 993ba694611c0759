"""What a workload is: what is asked, by whom, and how long the answers shall be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from documents.problem import DocumentError, Problem
from documents.registry import Registry

Lengths = NDArray[np.int64]

DEFAULT_TENANT = "default"
MAX_PROMPT_TOKENS = 1_000_000
MAX_OUTPUT_TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Shape:
    """One request before its text: how long it is, how long its answer, and whose it is."""

    prompt_tokens: int
    output_tokens: int
    tenant: str


class Workload(Protocol):
    """A frozen dataclass of parameters. Each question gets a random stream of its own."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @property
    def tenants(self) -> Mapping[str, float]:
        """Shares of the requests, by tenant; empty means one tenant named ``default``."""
        ...

    def prompt_lengths(self, count: int, rng: np.random.Generator) -> Lengths: ...

    def output_lengths(self, count: int, rng: np.random.Generator) -> Lengths: ...

    def prompt(self, shape: Shape, rng: np.random.Generator) -> str:
        """The text of one request; fresh for each, so that no prefix cache is warm by accident."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a session: its whole context so far, its answer, and the wait before it."""

    prompt_tokens: int
    output_tokens: int
    wait_s: float


@runtime_checkable
class Sessions(Workload, Protocol):
    """A workload whose requests build on one another: only a closed loop can ask it."""

    @property
    def shared_tokens(self) -> int:
        """Tokens at the start of every prompt that all sessions share."""
        ...

    def session(self, rng: np.random.Generator) -> Sequence[Turn]:
        """The turns of one session, in order; each prompt begins with the one before."""
        ...


def sent_alone(workload: Workload) -> list[Problem]:
    """Why a load test can't send a workload's requests each by itself; none where it can."""
    if not isinstance(workload, Sessions):
        return []
    message = (
        "has sessions, whose turns wait for one another; only the engine model plays them "
        "(headway simulate, or a run on a profile)"
    )
    return [Problem("workload.kind", workload.name, message)]


workloads: Registry[Workload] = Registry("loadtest.workloads", "workload")

W = TypeVar("W", bound=type[Workload])


def workload(cls: W) -> W:
    """Register a workload."""
    workloads.add(cls.name, cls)
    return cls


def check_shares(tenants: object) -> None:
    """Shares are a mapping of tenant name to a positive number; they need not add up to 1."""
    if not isinstance(tenants, Mapping):
        raise DocumentError([Problem("tenants", tenants, "must be a mapping of tenant: share")])
    problems = [
        Problem(f"tenants.{name}", share, "must be a share above 0 of a tenant with a name")
        for name, share in tenants.items()
        if not (isinstance(name, str) and name and _positive(share))
    ]
    if problems:
        raise DocumentError(problems)


def _positive(share: object) -> bool:
    number = isinstance(share, int | float) and not isinstance(share, bool)
    return number and math.isfinite(share) and share > 0  # type: ignore[arg-type, operator]

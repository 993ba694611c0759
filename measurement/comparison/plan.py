"""A comparison's plan: all that is fixed before the first block, read from a document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from documents.canonical import sha256
from documents.fields import describe, parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from measurement.comparison.assignment import LEAST_FLOOR, Arm, Design, Timetable, slot_length
from measurement.comparison.confidence_sequence import LEAST_BLOCKS
from measurement.comparison.criterion import Criterion, Kind
from measurement.comparison.fixed_budget import LEAST_PLANNED
from measurement.slo_parts import Metadata

API_VERSION = "headway/v1"
KIND = "ComparisonPlan"


class Stimulus(StrEnum):
    """Where requests come from."""

    LIVE = "live"
    REPLAY = "replay"
    """Both arms are asked the same."""


class Budget(StrEnum):
    """When one looks."""

    SEQUENTIAL = "sequential"
    """After every block."""
    FIXED = "fixed"
    """Four times, at shares of a planned number of blocks."""


FLOORS = {Stimulus.LIVE: 30.0, Stimulus.REPLAY: 5.0}


@dataclass(frozen=True)
class ComparisonPlan:
    """Immutable, and named by its hash. Policies are named by theirs: ``approved``."""

    metadata: Metadata = parameter(help="whose plan it is")  # noqa: RUF009 - declares a field
    baseline: str = parameter(help="hash of the approved policy that candidates are held against")
    candidate: str = parameter(help="hash of the approved policy that is tried")
    criteria: tuple[Criterion, ...] = parameter(help="what is compared, with margins")
    seed: int = parameter(minimum=0, maximum=2**63 - 1, help="draws every block's order")
    blocks: int = parameter(
        minimum=LEAST_BLOCKS, maximum=100_000, help="planned; after the last one it ends undecided"
    )
    design: str = parameter(default=Design.LANES, choices=tuple(Design))
    stimulus: str = parameter(default=Stimulus.LIVE, choices=tuple(Stimulus))
    budget: str = parameter(default=Budget.SEQUENTIAL, choices=tuple(Budget))
    requests: int = parameter(
        default=60, minimum=1, help="an arm and block, as far as it is known before the start"
    )
    alpha: float = parameter(
        default=0.05,
        minimum=0.0001,
        maximum=0.2,
        help="what may go wrong: a false harm of the whole rollout, a false pass of a stage",
    )
    stages: int = parameter(default=1, minimum=1, maximum=100, help="that share α for harm")
    weight: float = parameter(
        default=0.5,
        minimum=0,
        exclusive_minimum=True,
        maximum=0.5,
        help="the candidate's share of traffic, or of time in a switchback",
    )
    floor_s: float = parameter(
        default=FLOORS[Stimulus.LIVE], unit="s", minimum=LEAST_FLOOR, help="the shortest slot"
    )
    bake_s: float = parameter(default=0.0, unit="s", minimum=0, help="no pass before")
    deadline_s: float | None = parameter(
        default=None, unit="s", minimum=0, exclusive_minimum=True, help="ends it undecided"
    )

    def __post_init__(self) -> None:
        problems = []
        names = [criterion.name for criterion in self.criteria]
        if not names:
            problems.append(Problem("criteria", [], "must be a list of at least one criterion"))
        problems += [
            Problem(f"criteria.{place}", name, "is given twice")
            for place, name in enumerate(names)
            if name in names[:place]
        ]
        if self.budget == Budget.FIXED and self.blocks < LEAST_PLANNED:
            message = f"must be at least {LEAST_PLANNED} in a fixed budget"
            problems.append(Problem("blocks", self.blocks, message))
        if self.deadline_s is not None and self.deadline_s < self.bake_s:
            message = f"must not be before the bake time of {self.bake_s:g} s is over"
            problems.append(Problem("deadline_s", self.deadline_s, message))
        if problems:
            raise DocumentError(problems)

    @classmethod
    def parse(cls, given: object) -> ComparisonPlan:
        """The plan of a document, or DocumentError with everything that is wrong with it."""
        head = build(_Head, given)
        if not isinstance(head.spec, Mapping):
            raise DocumentError([Problem("spec", head.spec, "must be a mapping of field: value")])
        spec = dict(head.spec)
        problems: list[Problem] = []
        try:
            spec["criteria"] = _criteria(spec.get("criteria"))
        except DocumentError as error:
            problems += error.problems
            spec["criteria"] = (Criterion(kind=Kind.ATTAINMENT),)  # so that the rest is read too
        if spec.get("stimulus") == Stimulus.REPLAY:
            spec.setdefault("floor_s", FLOORS[Stimulus.REPLAY])
        try:
            metadata = build(Metadata, head.metadata, path="metadata")
            plan = build(cls, {**spec, "metadata": metadata})
        except DocumentError as error:
            raise DocumentError([*problems, *error.problems]) from None
        if problems:
            raise DocumentError(problems)
        return plan

    def to_document(self) -> dict[str, Any]:
        """The whole document, every default written out."""
        spec = {info.name: getattr(self, info.attribute) for info in describe(type(self))}
        del spec["metadata"]
        spec["criteria"] = [criterion.to_document() for criterion in self.criteria]
        metadata = {**asdict(self.metadata), "labels": dict(self.metadata.labels)}
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": metadata,
            "spec": {name: _plain(value) for name, value in spec.items() if value is not None},
        }

    @cached_property
    def sha256(self) -> str:
        """The hash that names this plan."""
        return sha256(self.to_document())

    @property
    def approved(self) -> dict[Arm, str]:
        """The policy that each arm must be seen to run."""
        return {Arm.BASELINE: self.baseline, Arm.CANDIDATE: self.candidate}

    @property
    def guardrails(self) -> tuple[Criterion, ...]:
        """Those that alone can call harm."""
        return tuple(criterion for criterion in self.criteria if criterion.guardrail)

    @property
    def alpha_harm(self) -> float:
        """One guardrail's share of α in one stage: any of them may call harm."""
        return self.alpha / max(1, len(self.guardrails)) / self.stages

    def scale(self, criterion: Criterion) -> float:
        """σ0: from the A/A run, or what the base rate gives when requests are independent."""
        if criterion.scale is not None:
            return criterion.scale
        base = min(max(criterion.base, 1 / (2 * self.requests)), 0.5)
        return math.sqrt(2 * base * (1 - base) / self.requests)

    def timetable(self, *, washout: float, median_e2e: float, rate: float) -> Timetable:
        """The slots, from what the baseline was measured to do: P99 and median of E2E, in seconds.

        ``rate`` is requests per second and arm.
        """
        length = slot_length(washout=washout, floor=self.floor_s, median_e2e=median_e2e, rate=rate)
        return Timetable(Design(self.design), self.seed, length, washout, self.weight)


@dataclass(frozen=True, slots=True)
class _Head:
    """The document's outermost fields, as they are given."""

    apiVersion: str = parameter(choices=(API_VERSION,))  # noqa: N815 - the document's own spelling
    kind: str = parameter(choices=(KIND,))
    metadata: object = parameter()
    spec: object = parameter()


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value


def _criteria(given: object) -> tuple[Criterion, ...]:
    if not isinstance(given, list | tuple):
        raise DocumentError([Problem("spec.criteria", given, "must be a list of criteria")])
    found: list[Criterion] = []
    problems: list[Problem] = []
    for place, item in enumerate(given):
        try:
            found.append(Criterion.parse(item, path=f"spec.criteria.{place}"))
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    return tuple(found)

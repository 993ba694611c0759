"""The plan of a rollout: which version, to which gateway, by which stages. Named by its hash."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from controlplane.rollouts.stage_documents import (
    ORDER,
    CanaryStage,
    FullStage,
    Stage,
    parse_stage,
    to_document,
)
from documents.canonical import sha256
from documents.fields import describe, parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from measurement.comparison.criterion import Criterion, Kind
from measurement.slo_parts import Metadata

API_VERSION, KIND = "headway/v1", "RolloutPlan"
MOST_STAGES = 20
USUAL = (Criterion(kind=Kind.ATTAINMENT), Criterion.parse({"kind": Kind.ERRORS}))
"""What a canary compares where its plan does not say."""


@dataclass(frozen=True)
class RolloutPlan:
    """Immutable. References are slugs; what traffic is judged by is the gateway's own SLO."""

    metadata: Metadata = parameter(help="whose plan it is")  # noqa: RUF009 - declares a field
    gateway: str = parameter(help="slug of the gateway whose traffic the candidate is for")
    candidate: str = parameter(help="slug of a policy, or slug@version; without one, the newest")
    stages: tuple[Stage, ...] = parameter(
        help="in the order model, load_test, shadow, canary, full"
    )
    workload: str | None = parameter(
        default=None, help="slug; what the model and the load test ask for"
    )
    seed: int | None = parameter(
        default=None, minimum=0, maximum=2**53, help="draws every block of every stage"
    )
    alpha: float = parameter(
        default=0.05,
        minimum=0.0001,
        maximum=0.2,
        help="what may go wrong: a false harm of the whole rollout, a false pass of a stage",
    )
    respect_freezes: bool = parameter(
        default=True,
        help="whether freeze windows and spent budgets stop its promotions; never its rollback",
    )

    def __post_init__(self) -> None:
        if problems := [*_order(self.stages), *_weights(self.stages), *self._unnamed()]:
            raise DocumentError(problems)

    def _unnamed(self) -> Iterator[Problem]:
        if self.workload is None and any(one.kind in ORDER[:2] for one in self.stages):
            yield Problem("workload", None, "is required: the model and the load test ask for it")

    @classmethod
    def parse(cls, given: object) -> RolloutPlan:
        """The plan of a document, or DocumentError with everything that is wrong with it."""
        head = build(_Head, given)
        if not isinstance(head.spec, Mapping):
            raise DocumentError([Problem("spec", head.spec, "must be a mapping of field: value")])
        spec = dict(head.spec)
        problems: list[Problem] = []
        try:
            spec["stages"] = _stages(spec.get("stages"))
        except DocumentError as error:
            problems += error.problems
            spec["stages"] = (CanaryStage(), FullStage())  # so that the rest is read too
        try:
            metadata = build(Metadata, head.metadata, path="metadata")
        except DocumentError as error:
            problems += error.problems
            metadata = Metadata("unread")
        try:
            plan = build(cls, {**spec, "metadata": metadata}, path="spec")
        except DocumentError as error:
            raise DocumentError([*problems, *error.problems]) from None
        if problems:
            raise DocumentError(problems)
        return plan

    def to_document(self) -> dict[str, Any]:
        """The whole document with its defaults; what was left open stays open."""
        spec = {info.name: getattr(self, info.attribute) for info in describe(type(self))}
        del spec["metadata"]
        spec["stages"] = [to_document(stage) for stage in self.stages]
        metadata = {**asdict(self.metadata), "labels": dict(self.metadata.labels)}
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": metadata,
            "spec": {name: value for name, value in spec.items() if value is not None},
        }

    @cached_property
    def sha256(self) -> str:
        """The hash that names this plan."""
        return sha256(self.to_document())

    @property
    def comparing(self) -> int:
        """Stages that share α for harm."""
        return max(1, sum(stage.compares for stage in self.stages))

    def name_of(self, index: int) -> str:
        """A stage as people call it: canaries by their weight, where there are several."""
        stage = self.stages[index]
        several = sum(isinstance(one, CanaryStage) for one in self.stages) > 1
        if isinstance(stage, CanaryStage) and several:
            return f"{stage.title} {100 * stage.weight:g} %"
        return stage.title


@dataclass(frozen=True, slots=True)
class _Head:
    """The document's outermost fields, as they are given."""

    apiVersion: str = parameter(choices=(API_VERSION,))  # noqa: N815 - the document's own spelling
    kind: str = parameter(choices=(KIND,))
    metadata: object = parameter()
    spec: object = parameter()


def _stages(given: object) -> tuple[Stage, ...]:
    if not isinstance(given, list | tuple) or not given:
        raise DocumentError([Problem("spec.stages", given, "must be a list of stages")])
    if len(given) > MOST_STAGES:
        message = f"must be at most {MOST_STAGES}"
        raise DocumentError([Problem("spec.stages", len(given), message)])
    found, problems = [], []
    for place, one in enumerate(given):
        try:
            found.append(parse_stage(one, path=f"spec.stages.{place}"))
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    return tuple(found)


def _order(stages: Sequence[Stage]) -> Iterator[Problem]:
    """Each kind in its place: what is cheap to be wrong in comes first."""
    kinds = [stage.kind for stage in stages]
    if kinds != sorted(kinds, key=ORDER.index):
        yield Problem("stages", kinds, f"must come in the order {', '.join(ORDER)}")
    for kind in ORDER:
        if kind != CanaryStage.kind and kinds.count(kind) > 1:
            yield Problem("stages", kinds, f"must hold {kind} once at most")
    for needed in (CanaryStage, FullStage):
        if needed.kind not in kinds:
            message = f"must hold {needed.kind}: nothing else shows what it does to live traffic"
            yield Problem("stages", kinds, message if needed is CanaryStage else "must end in full")


def _weights(stages: Sequence[Stage]) -> Iterator[Problem]:
    """Canaries widen; and before the first one somebody other than its author has looked."""
    canaries = [(place, one) for place, one in enumerate(stages) if isinstance(one, CanaryStage)]
    weights = [one.weight for _, one in canaries]
    if any(later <= earlier for earlier, later in itertools.pairwise(weights)):
        yield Problem("stages", weights, "canaries must grow in weight")
    if canaries and not canaries[0][1].approvals:
        where = f"stages.{canaries[0][0]}.approvals"
        yield Problem(where, 0, "must be at least 1: live traffic needs a second person's word")

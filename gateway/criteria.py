"""By what a comparison counts requests as bad: any criterion, counted by measurement's code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from documents.fields import parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from measurement.comparison.block import Count, count_arm
from measurement.comparison.criterion import LATENCIES, Criterion, Kind
from measurement.sample import Sample
from measurement.slo import Slo

MOST = 16


@dataclass(frozen=True, slots=True)
class CriterionConfig:
    """A criterion as far as counting needs it: margins are for those who judge."""

    name: str = parameter(help="what its counts are kept under")
    kind: str = parameter(choices=tuple(Kind), help="what makes a request bad")
    metric: str = parameter(
        default="", choices=("", *LATENCIES), help="the latency that an exceedance is about"
    )
    threshold: float | None = parameter(
        default=None, minimum=0, exclusive_minimum=True, unit="ms", help="τ of an exceedance"
    )

    def __post_init__(self) -> None:
        problems = []
        if not self.name or len(self.name) > 64:
            problems.append(Problem("name", self.name, "must have 1 to 64 characters"))
        try:
            self.criterion  # noqa: B018 - checks what is given
        except DocumentError as error:
            problems += error.problems
        if problems:
            raise DocumentError(problems)

    @property
    def criterion(self) -> Criterion:
        """The same for measurement."""
        return Criterion(kind=self.kind, metric=self.metric, threshold=self.threshold)

    def to_document(self) -> dict[str, Any]:
        """Without what is not given."""
        found = {"name": self.name, "kind": str(self.kind), "metric": self.metric or None}
        return {
            name: value
            for name, value in {**found, "threshold": self.threshold}.items()
            if value is not None
        }


def read_criteria(given: object) -> tuple[CriterionConfig, ...]:
    """The list of a document, or DocumentError with every fault in it."""
    if not isinstance(given, list | tuple) or len(given) > MOST:
        raise DocumentError([Problem("criteria", given, f"must be a list of at most {MOST}")])
    found: list[CriterionConfig] = []
    problems: list[Problem] = []
    for place, item in enumerate(given):
        if isinstance(item, CriterionConfig):
            found.append(item)
            continue
        try:
            found.append(build(CriterionConfig, item, path=f"criteria.{place}"))
        except DocumentError as error:
            problems += error.problems
    names = [one.name for one in found]
    problems += [
        Problem(f"criteria.{place}.name", name, "is given twice")
        for place, name in enumerate(names)
        if name in names[:place]
    ]
    if problems:
        raise DocumentError(problems)
    return tuple(found)


def count_into(
    counts: dict[str, Count], sample: Sample, slo: Slo | None, criteria: Iterable[CriterionConfig]
) -> None:
    """Add one request that has its outcome to the counts of every criterion."""
    for one in criteria:
        counted = count_arm([sample], slo, (one.criterion,))
        found = next(iter(counted.counts.values()))
        counts[one.name] = counts.get(one.name, Count()).merge(found)


def to_json(counts: Mapping[str, Count]) -> dict[str, dict[str, int]]:
    """As telemetry sends them."""
    return {
        name: {"offered": c.offered, "bad": c.bad, "unmeasured": c.unmeasured}
        for name, c in sorted(counts.items())
    }

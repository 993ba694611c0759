"""A criterion: one kind of bad request that arms are compared by, with its margins.

Whatever an objective is about, it becomes one bit for each offered request: bad or not. A
percentile becomes exceedance: P99 ≤ τ means that at most 1 % of requests are above τ, and τ is
frozen when the plan is approved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from documents.fields import describe, parameter
from documents.parse import build
from documents.problem import DocumentError, Problem
from measurement.objectives import METRICS
from measurement.sample import Sample
from measurement.slo import Judgement


class Kind(StrEnum):
    """What makes a request bad."""

    ATTAINMENT = "attainment"
    """It missed an objective of the SLO, or failed, or was rejected or shed."""
    EXCEEDANCE = "exceedance"
    """Its latency was above τ, or it failed: that counts as +∞."""
    ERRORS = "errors"
    """It failed, or was rejected or shed."""


PASS_MARGINS = {Kind.ATTAINMENT: 0.01, Kind.EXCEEDANCE: 0.005, Kind.ERRORS: 0.001}
BASES = {Kind.ATTAINMENT: 0.01, Kind.ERRORS: 0.001}
LATENCIES = tuple(name for name in METRICS if name != "error")


@dataclass(frozen=True, slots=True)
class Criterion:
    """Margins are differences of shares: 0.01 is one point."""

    kind: str = parameter(choices=tuple(Kind), help="what makes a request bad")
    metric: str = parameter(
        default="", choices=("", *LATENCIES), help="the latency that an exceedance is about"
    )
    quantile: float = parameter(
        default=0.99, minimum=0.5, maximum=0.9999, help="of the percentile that is held to τ"
    )
    threshold: float | None = parameter(
        default=None, unit="ms", minimum=0, exclusive_minimum=True, help="τ, frozen at approval"
    )
    source: str = parameter(default="", help="where τ and the scale are from: an A/A run, the SLO")
    pass_margin: float = parameter(
        default=PASS_MARGINS[Kind.ATTAINMENT],
        minimum=0,
        exclusive_minimum=True,
        maximum=1,
        help="a gap that is surely under it is good enough to pass",
    )
    harm_margin: float = parameter(
        default=0.0, minimum=0, maximum=1, help="a gap that is surely above it is harm"
    )
    guardrail: bool = parameter(default=True, help="whether it alone can call harm")
    base: float = parameter(
        default=BASES[Kind.ATTAINMENT],
        minimum=0,
        maximum=1,
        help="the baseline's share of bad requests, as far as it is known before the start",
    )
    scale: float | None = parameter(
        default=None,
        minimum=0,
        exclusive_minimum=True,
        help="σ0: deviation of a block's difference in an A/A run; from base if not given",
    )

    def __post_init__(self) -> None:
        problems = []
        if self.kind == Kind.EXCEEDANCE:
            if not self.metric:
                problems.append(Problem("metric", None, f"is one of {', '.join(LATENCIES)}"))
            if self.threshold is None:
                problems.append(Problem("threshold", None, "is required: τ is frozen at approval"))
        elif self.metric or self.threshold is not None:
            given = self.metric or self.threshold
            problems.append(Problem("metric", given, "only an exceedance has metric and threshold"))
        if problems:
            raise DocumentError(problems)

    @classmethod
    def parse(cls, given: object, *, path: str = "") -> Criterion:
        """The criterion of a mapping, with the defaults of its kind."""
        if not isinstance(given, Mapping):
            raise DocumentError([Problem(path, given, "must be a mapping of field: value")])
        return build(cls, {**_defaults(given), **given}, path=path)

    def to_document(self) -> dict[str, Any]:
        """The mapping, every default written out."""
        values = {info.name: getattr(self, info.attribute) for info in describe(type(self))}
        found = {name: value for name, value in values.items() if value not in (None, "")}
        return {**found, "kind": str(self.kind)}

    @property
    def name(self) -> str:
        """What counts are kept under."""
        if self.kind != Kind.EXCEEDANCE:
            return self.kind
        return f"{self.metric}_p{100 * self.quantile:g}"

    @property
    def label(self) -> str:
        """As a sentence holds it."""
        if self.kind == Kind.ATTAINMENT:
            return "attainment"
        if self.kind == Kind.ERRORS:
            return "errors"
        return f"{METRICS[self.metric].title} P{100 * self.quantile:g} ≤ {self.threshold:g} ms"

    def bad(self, sample: Sample, judgement: Judgement) -> bool | None:
        """Whether the request is bad; None for an answer that has no value to judge it by."""
        if self.kind == Kind.ATTAINMENT:
            return None if judgement.met and judgement.unmeasured else not judgement.met
        if self.kind == Kind.ERRORS:
            return METRICS["error"].missed(sample, 0.0)
        return METRICS[self.metric].missed(sample, self.threshold or 0.0)


def frozen_threshold(
    baseline: Iterable[Sample], metric: str, quantile: float, margin: float
) -> float:
    """τ = (1 + margin) × the baseline's percentile in an A/A run, in ms; a failure is +∞."""
    found = METRICS[metric]
    values = [found.of(sample) if sample.outcome.success else math.inf for sample in baseline]
    known = sorted(value for value in values if value is not None)
    if not known:
        raise DocumentError([Problem("threshold", None, f"no sample has a {found.title}")])
    tau = (1 + margin) * known[math.ceil(quantile * len(known)) - 1]
    if math.isinf(tau):
        message = "the baseline itself fails more often than the percentile allows; choose a lower"
        raise DocumentError([Problem("quantile", quantile, message)])
    return tau


def _defaults(given: Mapping[Any, Any]) -> dict[str, float]:
    kind, quantile = given.get("kind"), given.get("quantile", 0.99)
    if kind == Kind.EXCEEDANCE:
        base = round(1 - quantile, 9) if isinstance(quantile, float) else 0.01
        return {"pass_margin": PASS_MARGINS[Kind.EXCEEDANCE], "base": base}
    if kind == Kind.ERRORS:
        return {"pass_margin": PASS_MARGINS[Kind.ERRORS], "base": BASES[Kind.ERRORS]}
    return {}

"""The SLO document: objectives, their targets, bands by prompt length, overrides by tenant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from documents.canonical import sha256
from measurement.objectives import METRICS, Objective
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo_parts import Band, Metadata, Override, table_of
from measurement.slo_reader import API_VERSION, KIND, SECONDS, read


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one resolved request was worth: met, missed (and what), or excluded."""

    met: bool
    missed: tuple[str, ...] = ()
    excluded: bool = False
    """Cancelled before it had missed anything."""
    unmeasured: tuple[str, ...] = ()
    """Metrics that have no value for this success: no miss, but no proof either."""


@dataclass(frozen=True)
class Slo:
    """A set of objectives. A request is good when it meets every one of them."""

    metadata: Metadata
    objectives: tuple[Objective, ...]
    target: float
    window: str = "28d"
    bands: tuple[Band, ...] = ()
    tenants: Mapping[str, Override] = field(default_factory=dict)
    _tables: Mapping[str | None, tuple[Band, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        own = {objective.metric: objective.max for objective in self.objectives}
        tables: dict[str | None, tuple[Band, ...]] = {None: table_of(own, self.bands, Override({}))}
        for tenant, override in self.tenants.items():
            tables[tenant] = table_of(own, self.bands, override)
        object.__setattr__(self, "_tables", tables)

    @classmethod
    def parse(cls, given: object) -> Slo:
        """The SLO of a document, or DocumentError with everything that is wrong with it."""
        return cls(**read(given))

    def to_document(self) -> dict[str, Any]:
        """The whole document, every default written out."""
        metadata = dataclasses.asdict(self.metadata)
        metadata["labels"] = dict(self.metadata.labels)
        objectives = [
            {k: v for k, v in dataclasses.asdict(objective).items() if v is not None}
            for objective in self.objectives
        ]
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": metadata,
            "spec": {
                "target": self.target,
                "window": self.window,
                "objectives": objectives,
                "bands": [band.to_document() for band in self.bands],
                "tenants": {name: item.to_document() for name, item in self.tenants.items()},
            },
        }

    @property
    def sha256(self) -> str:
        """The hash that names this version."""
        return sha256(self.to_document())

    @property
    def period_s(self) -> float:
        """The window's length: what the error budget is counted over."""
        return float(self.window[:-1]) * SECONDS[self.window[-1]]

    def target_of(self, objective: Objective) -> float:
        """The objective's own target, or the SLO's."""
        return self.target if objective.target is None else objective.target

    def target_for(self, tenant: str) -> float:
        """The tenant's own joint target, or the SLO's."""
        override = self.tenants.get(tenant)
        return self.target if override is None or override.target is None else override.target

    def maximum(
        self, metric: str, *, tenant: str = "", prompt_tokens: int | None = None
    ) -> float | None:
        """The threshold that holds for such a request, in the metric's unit; None without one."""
        return self._maxima(tenant, prompt_tokens).get(metric)

    def judge(self, sample: Sample) -> Judgement:
        """What the sample was worth under this SLO."""
        maxima = self._maxima(sample.tenant, sample.prompt_tokens)
        broken = {metric: METRICS[metric].missed(sample, top) for metric, top in maxima.items()}
        missed = tuple(metric for metric, answer in broken.items() if answer)
        if sample.outcome is Outcome.CANCELLED:
            return Judgement(met=False, missed=missed, excluded=not missed)
        unmeasured = tuple(metric for metric, answer in broken.items() if answer is None)
        return Judgement(met=not missed, missed=missed, unmeasured=unmeasured)

    def table(self, tenant: str | None) -> tuple[Band, ...]:
        """Every threshold that holds for the tenant, by prompt length, longest first."""
        return self._tables.get(tenant) or self._tables[None]

    def _maxima(self, tenant: str, prompt_tokens: int | None) -> Mapping[str, float]:
        length = max(0, prompt_tokens or 0)
        return next(row.maxima for row in self.table(tenant) if length > row.prompt_tokens_over)


def judge(sample: Sample, slo: Slo | None) -> Judgement:
    """The sample under the SLO. Without one every success is good, and a cancel is excluded."""
    if slo is not None:
        return slo.judge(sample)
    return Judgement(met=sample.outcome.success, excluded=sample.outcome is Outcome.CANCELLED)

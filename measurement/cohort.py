"""The cohort part of a window: what became of the requests that were intended in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from measurement.events import add_counts
from measurement.histogram import EMPTY, Histogram, HistogramBuilder
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import Judgement

K = TypeVar("K")

HISTOGRAMS = ("ttft", "tpot", "itl", "e2e", "send_lag")


@dataclass(frozen=True, slots=True)
class TenantCount:
    """One tenant's part of a cohort."""

    offered: int = 0
    met: int = 0
    missed: int = 0
    excluded: int = 0
    shed: int = 0
    output_tokens: int = 0

    def merge(self, other: TenantCount) -> TenantCount:
        """Both together."""
        mine, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        return TenantCount(*(a + b for a, b in zip(mine, theirs, strict=True)))


@dataclass(frozen=True, slots=True)
class Cohort:
    """Counts and histograms; all of them add, so cohorts merge exactly in any order.

    Latency histograms hold successes; ``send_lag`` holds everything that was sent.
    """

    offered: int = 0
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)
    met: int = 0
    missed: int = 0
    excluded: int = 0
    missed_by: Mapping[str, int] = field(default_factory=dict)
    """Misses of each objective; a request may miss several."""
    unmeasured: Mapping[str, int] = field(default_factory=dict)
    """Successes for which an objective's metric has no value: no miss, but no proof either."""
    output_tokens: int = 0
    met_tokens: int = 0
    """Output tokens of the requests that met every objective."""
    tenants: Mapping[str, TenantCount] = field(default_factory=dict)
    ttft: Histogram = EMPTY
    tpot: Histogram = EMPTY
    itl: Histogram = EMPTY
    e2e: Histogram = EMPTY
    send_lag: Histogram = EMPTY

    @property
    def resolved(self) -> int:
        """How many of the offered have an outcome."""
        return sum(self.outcomes.values())

    @property
    def pending(self) -> int:
        """How many are still on their way."""
        return self.offered - self.resolved

    @property
    def judged(self) -> int:
        """Resolved and not excluded: what attainment is a share of."""
        return self.met + self.missed

    @property
    def attainment(self) -> float | None:
        """Share of the judged that met every objective; None before the first."""
        return self.met / self.judged if self.judged else None

    def merge(self, other: Cohort) -> Cohort:
        """Both together."""
        tenants = dict(self.tenants)
        for name, theirs in other.tenants.items():
            tenants[name] = tenants[name].merge(theirs) if name in tenants else theirs
        return Cohort(
            offered=self.offered + other.offered,
            outcomes=add_counts(self.outcomes, other.outcomes),
            met=self.met + other.met,
            missed=self.missed + other.missed,
            excluded=self.excluded + other.excluded,
            missed_by=add_counts(self.missed_by, other.missed_by),
            unmeasured=add_counts(self.unmeasured, other.unmeasured),
            output_tokens=self.output_tokens + other.output_tokens,
            met_tokens=self.met_tokens + other.met_tokens,
            tenants=tenants,
            **{name: getattr(self, name).merge(getattr(other, name)) for name in HISTOGRAMS},
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; ``pending`` is written for readers and follows from the rest."""
        return {
            "offered": self.offered,
            "pending": self.pending,
            "outcomes": {str(outcome): n for outcome, n in self.outcomes.items()},
            "met": self.met,
            "missed": self.missed,
            "excluded": self.excluded,
            "missed_by": dict(self.missed_by),
            "unmeasured": dict(self.unmeasured),
            "output_tokens": self.output_tokens,
            "met_tokens": self.met_tokens,
            "tenants": {name: dataclasses.asdict(row) for name, row in self.tenants.items()},
            **{name: getattr(self, name).to_json() for name in HISTOGRAMS},
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Cohort:
        """What ``to_json`` wrote."""
        return cls(
            offered=given["offered"],
            outcomes={Outcome(name): n for name, n in given["outcomes"].items()},
            met=given["met"],
            missed=given["missed"],
            excluded=given["excluded"],
            missed_by=dict(given["missed_by"]),
            unmeasured=dict(given["unmeasured"]),
            output_tokens=given["output_tokens"],
            met_tokens=given["met_tokens"],
            tenants={name: TenantCount(**row) for name, row in given["tenants"].items()},
            **{name: Histogram.from_json(given[name]) for name in HISTOGRAMS},
        )


class CohortBuilder:
    """Where resolved samples are counted; ``freeze`` gives the cohort so far."""

    __slots__ = ("_counts", "_histograms", "_missed_by", "_outcomes", "_tenants", "_unmeasured")

    def __init__(self) -> None:
        self._counts = dict.fromkeys(
            ("offered", "met", "missed", "excluded", "output_tokens", "met_tokens"), 0
        )
        self._outcomes: dict[Outcome, int] = {}
        self._missed_by: dict[str, int] = {}
        self._unmeasured: dict[str, int] = {}
        self._tenants: dict[str, dict[str, int]] = {}
        self._histograms = {name: HistogramBuilder() for name in HISTOGRAMS}

    @property
    def pending(self) -> int:
        """How many were offered and have no outcome yet."""
        return self._counts["offered"] - sum(self._outcomes.values())

    def offered(self, tenant: str) -> None:
        """Count one request in."""
        self._counts["offered"] += 1
        self._tenant(tenant)["offered"] += 1

    def resolved(self, sample: Sample, judgement: Judgement) -> None:
        """Count what became of one that was offered, and record its latencies."""
        self.count(sample, judgement)
        self._record(sample)

    def count(self, sample: Sample, judgement: Judgement) -> None:
        """Count what became of one that was offered."""
        if not self.pending:
            raise ValueError(f"request {sample.index} has an outcome but was never offered")
        _count(self._outcomes, sample.outcome)
        tokens = sample.output_tokens or 0
        verdict = "excluded" if judgement.excluded else "met" if judgement.met else "missed"
        row = self._tenant(sample.tenant)
        for counts in (self._counts, row):
            counts[verdict] += 1
            counts["output_tokens"] += tokens
        row["shed"] += sample.outcome is Outcome.SHED
        self._counts["met_tokens"] += tokens if judgement.met else 0
        for metric in judgement.missed:
            _count(self._missed_by, metric)
        for metric in judgement.unmeasured:
            _count(self._unmeasured, metric)

    def freeze(self) -> Cohort:
        """The cohort so far."""
        return Cohort(
            offered=self._counts["offered"],
            outcomes=dict(self._outcomes),
            met=self._counts["met"],
            missed=self._counts["missed"],
            excluded=self._counts["excluded"],
            missed_by=dict(self._missed_by),
            unmeasured=dict(self._unmeasured),
            output_tokens=self._counts["output_tokens"],
            met_tokens=self._counts["met_tokens"],
            tenants={name: TenantCount(**row) for name, row in self._tenants.items()},
            **{name: builder.freeze() for name, builder in self._histograms.items()},
        )

    def pack(self) -> None:
        """Hold the histograms in little memory, until ``unpack``."""
        for builder in self._histograms.values():
            builder.pack()

    def unpack(self) -> None:
        """Be ready to take more."""
        for builder in self._histograms.values():
            builder.unpack()

    def _tenant(self, name: str) -> dict[str, int]:
        row = self._tenants.get(name)
        if row is None:
            row = self._tenants[name] = dataclasses.asdict(TenantCount())
        return row

    def _record(self, sample: Sample) -> None:
        histograms = self._histograms
        if sample.send_lag is not None:
            histograms["send_lag"].record(sample.send_lag)
        if not sample.outcome.success:
            return
        for name in ("ttft", "tpot", "e2e"):
            value = getattr(sample, name)
            if value is not None:
                histograms[name].record(value)
        if sample.gaps:
            weights = None if sample.gap_tokens is None else sample.gap_weights
            histograms["itl"].record_all(sample.token_gaps, weights)


def _count(counts: dict[K, int], key: K) -> None:
    counts[key] = counts.get(key, 0) + 1

"""The summary of a run, exact, from its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from measurement.bands import BandRow
from measurement.bands import rows as band_rows
from measurement.columns import SampleColumns
from measurement.judgements import Judgements
from measurement.latencies import intervals
from measurement.little import Little
from measurement.little import check as check_little
from measurement.moments import Moments
from measurement.part import Part
from measurement.quantiles import Interval
from measurement.run_budget import RunBudget
from measurement.slo import Slo
from measurement.steady import Steady
from measurement.tally import Tally
from measurement.tenants import TenantRow, fairness, rows, worst


@dataclass(frozen=True, slots=True)
class Summary:
    """``steady`` is what is judged, after warm-up; ``whole`` stands beside it."""

    steady: Part
    whole: Part
    intervals: Mapping[str, Mapping[str, Interval]]
    tenants: tuple[TenantRow, ...]
    fairness: Mapping[str, float | None]
    little: Little
    moments: Moments
    bands: tuple[BandRow, ...]
    budget: RunBudget | None
    warm_up: float
    duration: float
    tally: Tally
    """Of the steady part: what the verdict is made from."""
    detected: Steady | None = None
    """Where the run became steady by itself, whatever was cut."""
    automatic: bool = False
    """Whether that decided the cut."""

    @property
    def method(self) -> str:
        """How the cut was chosen: ``auto``, ``seconds`` as given, or ``none``."""
        if self.automatic:
            return "auto"
        return "seconds" if self.warm_up else "none"

    def to_json(self) -> dict[str, Any]:
        """The keys of summary.json that are numbers of the run: docs/metrics.md names each."""
        lowest = worst(self.tenants)
        return {
            **self.steady.to_json(),
            "intervals": {
                name: {percent: found.to_json() for percent, found in row.items()}
                for name, row in self.intervals.items()
            },
            "tenants": [row.to_json() for row in self.tenants],
            "bands": [row.to_json() for row in self.bands],
            "budget": self.budget.to_json() if self.budget else None,
            "worst_tenant": lowest.tenant if lowest is not None else None,
            "fairness": dict(self.fairness),
            "little": self.little.to_json(),
            "moments": self.moments.to_json(),
            "cut": {
                "method": self.method,
                "warm_up_s": self.warm_up,
                "detected": self.detected.to_json() if self.detected else None,
                "duration_s": self.duration,
                "requests_cut": self.whole.offered - self.steady.offered,
                "whole": self.whole.to_json(),
            },
        }


def summarise(
    columns: SampleColumns,
    *,
    slo: Slo | None,
    duration: float,
    warm_up: float = 0.0,
    counted_in_flight: float | None = None,
    weights: Mapping[str, float] | None = None,
) -> Summary:
    """Sum up a run whose schedule lasted ``duration`` seconds, or that was stopped then.

    Requests intended in the first ``warm_up`` seconds are cut. ``counted_in_flight`` is the
    driver's own mean in flight over the steady part, for Little's law; ``weights`` are tenants'.
    """
    judgements = Judgements.of(columns, slo)
    whole = Part.of(judgements, start=0.0, end=duration)
    steady = Part.of(judgements, start=warm_up, end=duration) if warm_up else whole
    kept = columns.since(warm_up)
    found = rows(kept, judgements)
    return Summary(
        steady=steady,
        whole=whole,
        intervals=intervals(kept),
        tenants=found,
        fairness=fairness(found, weights),
        little=check_little(columns, start=warm_up, end=duration, counted=counted_in_flight),
        moments=Moments.of(kept),
        bands=band_rows(kept, judgements),
        budget=RunBudget.of(steady.joint, slo.target) if slo else None,
        warm_up=warm_up,
        duration=duration,
        tally=judgements.tally(len(columns) - len(kept)),
    )

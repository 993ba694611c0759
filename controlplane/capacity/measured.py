"""Finished runs of an endpoint under a workload, as points of a capacity curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.catalogue.models import Endpoint, Workload
from controlplane.runs.models import Run, Status
from controlplane.teams.models import Team
from measurement.capacity.observed import Observed

MOST_RUNS = 200
LEAST_LOADS = 3
"""Loads that a knee takes."""


@dataclass(frozen=True, slots=True)
class Point:
    """A run and what it measured; ``asked`` is the load by its scenario, to tell repeats by."""

    run: Run
    asked: float
    observed: Observed


def points(team: Team, endpoint: Endpoint, workload: Workload) -> list[Point]:
    """The newest runs with a valid stimulus, newest first.

    Only those of the workload as the newest run had it: an edited workload is another one.
    """
    rows = Run.objects.for_team(team).filter(
        endpoint=endpoint, workload=workload, status=Status.DONE
    )
    rows = rows.exclude(verdict="invalid").exclude(summary=None)
    rows = rows.select_related("policy_version__line").defer("live", "judgement")
    found: list[Point] = []
    document: object = None
    for run in rows[:MOST_RUNS]:
        document = run.scenario.get("workload") if document is None else document
        observed = Observed.of_summary(run.summary or {})
        if observed is None or run.scenario.get("workload") != document:
            continue
        asked = (run.scenario.get("arrivals") or {}).get("rate")
        found.append(Point(run, float(asked or f"{observed.rate:.2g}"), observed))
    return found


def ladders(found: Sequence[Point]) -> list[list[Observed]]:
    """The n-th newest run of each load is a rung of the n-th ladder; short ones hold no knee, and
    are kept only where there is no longer one."""
    by_load: dict[float, list[Observed]] = defaultdict(list)
    for point in found:
        by_load[point.asked].append(point.observed)
    most = max((len(runs) for runs in by_load.values()), default=0)
    rungs = [[runs[n] for runs in by_load.values() if len(runs) > n] for n in range(most)]
    whole = [ladder for ladder in rungs if len(ladder) >= LEAST_LOADS]
    return whole or rungs[:1]


def target_of(found: Sequence[Point]) -> float | None:
    """The newest run's SLO target."""
    for point in found:
        slo = point.run.scenario.get("slo")
        if slo:
            return float(slo["spec"]["target"])
    return None

"""The runs of one endpoint under one workload and load, as series; and where each changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.catalogue.models import Endpoint, Workload
from controlplane.history.models import Acknowledgement
from controlplane.runs.models import Run, Status
from documents import canonical
from measurement.change_points import MOST_RUNS, ChangePoint, find


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of a run's report that has a history. ``least`` is the change that matters: a
    share of the level, or of attainment so many points."""

    title: str
    unit: str
    path: tuple[str, ...]
    least: float
    worse: int
    """+1 where more is worse."""

    def of(self, summary: Mapping[str, Any]) -> float | None:
        """The value; a rough percentile is one too, and its level shows whether it is luck."""
        found = self._value(summary)
        if found is None and len(self.path) == 2:
            found = ((summary.get(self.path[0]) or {}).get("rough") or {}).get(self.path[1])
        if found is None:
            return None
        return 100 * float(found) if self.unit == "%" else float(found)

    def _value(self, summary: Mapping[str, Any]) -> Any:
        found: Any = summary
        for key in self.path:
            found = (found or {}).get(key)
        return found

    def matters(self, change: ChangePoint) -> bool:
        """Whether it is large enough to be told."""
        if self.unit == "%":
            return abs(change.after - change.before) >= self.least
        return change.relative is not None and abs(change.relative) >= self.least


METRICS: Mapping[str, Metric] = {
    "ttft_p50": Metric("TTFT P50", "ms", ("ttft_ms", "p50"), 0.05, 1),
    "ttft_p95": Metric("TTFT P95", "ms", ("ttft_ms", "p95"), 0.05, 1),
    "ttft_p99": Metric("TTFT P99", "ms", ("ttft_ms", "p99"), 0.05, 1),
    "tpot_p50": Metric("TPOT P50", "ms", ("tpot_ms", "p50"), 0.05, 1),
    "tpot_p95": Metric("TPOT P95", "ms", ("tpot_ms", "p95"), 0.05, 1),
    "tpot_p99": Metric("TPOT P99", "ms", ("tpot_ms", "p99"), 0.05, 1),
    "attainment": Metric("Attainment", "%", ("attainment",), 0.5, -1),
}
NEAR = 2
"""Runs by which a change point may move as the history grows, and still be the one noted."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change point that matters, with the run that is the first of the new level."""

    name: str
    metric: Metric
    run: Run
    point: ChangePoint
    noted: Acknowledgement | None

    @property
    def worse(self) -> bool:
        return (self.point.after - self.point.before) * self.metric.worse > 0


def pairs(team: Any) -> list[dict[str, Any]]:
    """Each endpoint and workload that has finished runs, the newest first."""
    counts: Counter[tuple[Any, Any]] = Counter()
    newest: dict[tuple[Any, Any], Run] = {}
    for run in _judged(team).defer("summary", "scenario", "live", "judgement"):
        key = (run.endpoint_id, run.workload_id)
        counts[key] += 1
        newest.setdefault(key, run)
    return [{"run": run, "runs": counts[key]} for key, run in newest.items()]


def loads(team: Any, endpoint: Endpoint, workload: Workload) -> list[dict[str, Any]]:
    """The loads that this pair was put under, those with most runs first: only runs of one load
    make one series."""
    counts: Counter[str] = Counter()
    said: dict[str, str] = {}
    rows = _judged(team).filter(endpoint=endpoint, workload=workload)
    for scenario in rows.values_list("scenario", flat=True):
        key = load_key(scenario)
        counts[key] += 1
        said.setdefault(key, load_words(scenario))
    return [{"key": key, "said": said[key], "runs": n} for key, n in counts.most_common()]


def load_key(scenario: Mapping[str, Any]) -> str:
    """A name for what decides the load."""
    decides = {name: scenario.get(name) for name in ("arrivals", "duration_s", "workload")}
    return canonical.sha256(decides)[:12]


def load_words(scenario: Mapping[str, Any]) -> str:
    """``poisson, 20 requests/s, 60 s``."""
    arrivals = scenario.get("arrivals") or {}
    parts = [str(arrivals.get("process", ""))]
    if arrivals.get("rate") is not None:
        parts.append(f"{arrivals['rate']:g} requests/s")
    if arrivals.get("concurrency") is not None:
        parts.append(f"{arrivals['concurrency']} at once")
    return ", ".join([*parts, f"{scenario.get('duration_s', 0):g} s"])


def runs(team: Any, endpoint: Endpoint, workload: Workload, key: str) -> list[Run]:
    """The newest runs of one load, oldest first; those with an invalid stimulus are left out."""
    rows = (
        _judged(team)
        .filter(endpoint=endpoint, workload=workload)
        .select_related("policy_version__line")
    )
    kept: list[Run] = []
    for run in rows.defer("live", "judgement").iterator(chunk_size=100):
        if load_key(run.scenario) == key and run.summary:
            kept.append(run)
        if len(kept) == MOST_RUNS:
            break
    return kept[::-1]


def changes(found: Sequence[Run]) -> list[Change]:
    """Every change that matters, newest first, with what was said of it."""
    said = list(Acknowledgement.objects.filter(run__in=found).select_related("created_by"))
    place = {run.pk: at for at, run in enumerate(found)}
    rows = []
    for name, metric in METRICS.items():
        known = [
            (run, value) for run in found if (value := metric.of(run.summary or {})) is not None
        ]
        for point in find([value for _, value in known]):
            if not metric.matters(point):
                continue
            run = known[point.index][0]
            near = (
                one
                for one in said
                if one.metric == name and abs(place[one.run_id] - place[run.pk]) <= NEAR
            )
            rows.append(Change(name, metric, run, point, next(near, None)))
    return sorted(rows, key=lambda change: (place[change.run.pk], change.name), reverse=True)


def _judged(team: Any) -> Any:
    """Measured ones: what the engine model says of itself has no history."""
    done = Run.objects.for_team(team).filter(status=Status.DONE, profile="")
    rows = done.exclude(verdict="invalid")
    return rows.select_related("endpoint", "workload")

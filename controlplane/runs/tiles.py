"""The six numbers on top of a run's page, each with its interval, n, target and course.

They read what measurement has computed: the report once there is one, else the live totals. A
tile's status is the verdict on its objective, so that no tile can contradict the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.runs import phrases
from controlplane.runs.models import Run
from controlplane.runs.panels.base import Row
from controlplane.runs.verdicts import judgement_of

SPARK_POINTS = 60
STATUS = {"pass": "ok", "fail": "bad", "inconclusive": "warn"}
REJECTED = ("rejected_429", "rejected_503", "shed")
NOT_ERRORS = (*REJECTED, "ok", "truncated", "cancelled")

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """How a tile's numbers are written."""

    id: str
    title: str
    unit: str
    digits: int
    scale: float = 1.0
    """From the value to what is shown: 100 for a share."""
    bad: str = "above"
    floor: float | None = 0.0
    ceiling: float | None = None

    def text(self, value: float | None) -> str:
        return phrases.NOTHING if value is None else phrases.number(value * self.scale, self.digits)


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands on a tile."""

    value: float | None
    n: int | None
    low: float | None = None
    high: float | None = None
    effective_n: int | None = None
    target: float | None = None
    status: str = "none"
    enough: bool = True
    spark: Sequence[float | None] = ()


ATTAINMENT = Look("attainment", "Attainment (offered)", "%", 2, 100.0, bad="below", ceiling=1.0)
GOODPUT = Look("goodput", "Goodput", "req/s", 1, bad="below")
TTFT = Look("ttft", "TTFT P99", "ms", 0)
TPOT = Look("tpot", "TPOT P99", "ms", 1)
REFUSED = Look("rejected", "Rejected and shed", "%", 2, 100.0, ceiling=1.0)
ERRORS = Look("errors", "Errors", "%", 3, 100.0, ceiling=1.0)


def tiles(run: Run, cohorts: Sequence[Row]) -> list[dict[str, Any]]:
    """All six, in the order of the page."""
    facts: Facts = run.summary or run.live.get("totals") or {}
    judged = judgement_of(run)
    known = run.live.get("counts") or {}
    return [
        _tile(ATTAINMENT, _attainment(run, facts, judged, cohorts)),
        _tile(GOODPUT, _goodput(facts, cohorts)),
        _tile(TTFT, _latency("ttft", facts, judged, cohorts)),
        _tile(TPOT, _latency("tpot", facts, judged, cohorts)),
        _tile(REFUSED, _share(known, judged, REJECTED)),
        _tile(ERRORS, _share(known, judged, _error_names(known))),
    ]


def _attainment(run: Run, facts: Facts, judged: Facts, cohorts: Sequence[Row]) -> Reading:
    slo = run.scenario.get("slo")
    return Reading(
        value=facts.get("attainment"),
        n=judged.get("n", facts.get("offered")),
        low=judged.get("lower"),
        high=judged.get("upper"),
        effective_n=judged.get("effective_n"),
        target=slo["spec"]["target"] if slo else None,
        status=STATUS.get(str(judged.get("outcome")), "none") if slo else "none",
        spark=_spark(cohorts, "attainment_percent", 0.01),
    )


def _goodput(facts: Facts, cohorts: Sequence[Row]) -> Reading:
    return Reading(
        value=facts.get("goodput_rps"),
        n=facts.get("offered"),
        spark=_spark(cohorts, "goodput_rps"),
    )


def _latency(metric: str, facts: Facts, judged: Facts, cohorts: Sequence[Row]) -> Reading:
    found: Facts = facts.get(f"{metric}_ms") or {}
    objective = _objective(judged, f"{metric}_ms")
    low, high = found.get("p99_interval") or (None, None)
    return Reading(
        value=found.get("p99"),
        n=found.get("n"),
        low=low,
        high=high,
        target=objective.get("max"),
        status=STATUS.get(str(objective.get("outcome")), "none"),
        enough=bool(found.get("n", 0) >= 368),
        spark=_spark(cohorts, f"{metric}_p99"),
    )


def _share(known: Facts, judged: Facts, names: Sequence[str]) -> Reading:
    offered, outcomes = known.get("offered") or 0, known.get("outcomes") or {}
    n = sum(outcomes.get(name, 0) for name in names)
    return Reading(value=n / offered if offered else None, n=offered)


def _error_names(known: Facts) -> list[str]:
    return [name for name in known.get("outcomes") or {} if name not in NOT_ERRORS]


def _objective(judged: Facts, metric: str) -> Facts:
    objectives = judged.get("objectives") or ()
    return next((one for one in objectives if one.get("metric") == metric), {})


def _spark(rows: Sequence[Row], key: str, scale: float = 1.0) -> list[float | None]:
    values = [row[key] for row in rows[-SPARK_POINTS:]]
    return [None if value is None else round(value * scale, 6) for value in values]


def _tile(look: Look, seen: Reading) -> dict[str, Any]:
    lowest, highest = _range(look, seen)
    sign = "≥" if look.bad == "below" else "≤"
    target = None if seen.target is None else f"{sign} {look.text(seen.target)} {look.unit}"
    return {
        "id": look.id,
        "title": look.title,
        "value": seen.value,
        "text": look.text(seen.value),
        "unit": look.unit,
        "n": seen.n,
        "n_text": phrases.number(seen.n),
        "effective_n": seen.effective_n,
        "low": seen.low,
        "high": seen.high,
        "low_text": look.text(seen.low),
        "high_text": look.text(seen.high),
        "target": seen.target,
        "target_text": target,
        "bad": look.bad,
        "min": lowest,
        "max": highest,
        "status": seen.status,
        "enough": seen.enough,
        "spark": list(seen.spark),
    }


def _range(look: Look, seen: Reading) -> tuple[float | None, float | None]:
    """The ends of the tile's scale: all that stands on it, and some room."""
    marks = [mark for mark in (seen.value, seen.low, seen.high, seen.target) if mark is not None]
    if not marks:
        return None, None
    low, high = min(marks), max(marks)
    room = 0.15 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - room, high + room
    if look.floor is not None:
        low = max(low, look.floor)
    if look.ceiling is not None:
        high = min(high, look.ceiling)
    return low, high

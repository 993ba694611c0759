"""The numbers on top of a run's page, each with its interval, n, target and course.

They read what measurement has computed: the report once there is one, else the live totals. A
tile's status is the verdict on its objective, so that no tile can contradict the verdict: where
the run is invalid, nothing of it is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controlplane.runs import phrases, shares
from controlplane.runs.models import Run
from controlplane.runs.panels import latency_base as latency
from controlplane.runs.panels.base import Row
from controlplane.runs.quiet import is_quiet, overdue
from controlplane.runs.verdicts import judgement_of
from measurement.proportion import Share
from measurement.run_budget import RunBudget
from measurement.slo import Slo

SPARK_POINTS = 60
STATUS = {"pass": "ok", "fail": "bad", "inconclusive": "warn"}

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
BUDGET = Look("budget", "Error budget spent", "%", 0, 100.0)
ERRORS = Look("errors", "Errors", "%", 3, 100.0, ceiling=1.0)


def tiles(run: Run, cohorts: Sequence[Row], slo: Slo | None) -> list[dict[str, Any]]:
    """In the order of the page; the error budget only where there are objectives."""
    facts: Facts = run.summary or run.live.get("totals") or {}
    judged = judgement_of(run)
    late = overdue(run.live) if run.is_live else 0
    seen = [
        (ATTAINMENT, _with(_attainment(facts, judged, cohorts, slo), late)),
        (GOODPUT, _goodput(facts, cohorts)),
        (TTFT, _latency("ttft", facts, judged, cohorts, slo)),
        (TPOT, _latency("tpot", facts, judged, cohorts, slo)),
        (REFUSED, _share(cohorts, "refused")),
        (ERRORS, _share(cohorts, "failed")),
    ]
    if slo is not None:
        seen.insert(1, (BUDGET, _budget(facts, judged, late)))
    invalid = judged.get("outcome") == "invalid"
    found = [tile(look, reading, invalid=invalid) for look, reading in seen]
    quiet = run.is_live and is_quiet(run.live)
    return [_unsure(one, late) for one in found] if quiet else found


def _unsure(made: dict[str, Any], late: int) -> dict[str, Any]:
    """While no answer ends, none meets anything; what is missed stays so."""
    if made["id"] == ATTAINMENT.id and late:
        made["note"] = f"{phrases.number(late)} waiting past their objective, counted as missed"
    if made["status"] == "bad" or made["target"] is None:
        return made
    return made | {"status": "none", "word": "engine quiet"}


def _attainment(facts: Facts, judged: Facts, cohorts: Sequence[Row], slo: Slo | None) -> Reading:
    joint = _objective(judged, "joint")
    return Reading(
        value=judged.get("attainment", facts.get("attainment")),
        n=judged.get("n", facts.get("offered")),
        low=facts.get("attainment_low"),
        high=facts.get("attainment_high"),
        effective_n=_whole(judged.get("effective_n")),
        target=slo.target if slo else None,
        status=STATUS.get(str(joint.get("outcome")), "none"),
        spark=_spark(cohorts, "attainment_percent", 0.01),
    )


def _with(seen: Reading, late: int) -> Reading:
    """With those that wait past their objective, as dependent as the rest."""
    if not late:
        return seen
    n = seen.n or 0
    worth = (seen.effective_n or n) * (n + late) / n if n else 1.0
    share = Share(round((seen.value or 0.0) * n), n + late, worth)
    low, high = share.interval()
    told = {"value": share.value, "n": share.n, "low": low, "high": high}
    return replace(seen, **told, effective_n=_whole(worth))


def _budget(facts: Facts, judged: Facts, late: int) -> Reading:
    """What the run has missed, over what its target lets it miss by its end."""
    known: Facts = facts.get("budget") or {}
    if known and late:
        n, missed = known["n"] + late, known["missed"] + late
        known = RunBudget(known["target"], n, missed, known["elapsed"]).to_json()
    return Reading(
        value=known.get("spent"),
        n=known.get("n"),
        target=1.0,
        status=STATUS.get(str(_objective(judged, "joint").get("outcome")), "none"),
    )


def _goodput(facts: Facts, cohorts: Sequence[Row]) -> Reading:
    return Reading(
        value=facts.get("goodput_rps"),
        n=facts.get("offered"),
        spark=_spark(cohorts, "goodput_rps"),
    )


def _latency(
    metric: str, facts: Facts, judged: Facts, cohorts: Sequence[Row], slo: Slo | None
) -> Reading:
    found: Facts = facts.get(f"{metric}_ms") or {}
    rough: Facts = found.get("rough") or {}
    n = found.get("n") or 0
    interval: Facts = ((facts.get("intervals") or {}).get(f"{metric}_ms") or {}).get("p99") or {}
    return Reading(
        value=rough.get("p99") if found.get("p99") is None else found["p99"],
        n=n,
        low=interval.get("low"),
        high=interval.get("high"),
        effective_n=_whole(interval.get("effective_n")),
        target=latency.limit(slo, f"{metric}_ms"),
        status=STATUS.get(str(_objective(judged, f"{metric}_ms").get("outcome")), "none"),
        enough=n >= latency.NEEDED["p99"],
        spark=_spark(cohorts, f"{metric}_p99"),
    )


def _share(cohorts: Sequence[Row], key: str) -> Reading:
    share = shares.share(cohorts, key)
    low, high = share.interval() if share.n else (None, None)
    return Reading(
        value=share.value,
        n=share.n,
        low=low,
        high=high,
        effective_n=_whole(share.effective_n if share.n else None),
        spark=shares.course(cohorts[-SPARK_POINTS:], key),
    )


def _objective(judged: Facts, metric: str) -> Facts:
    """The judgement's row on one metric; "joint" for all objectives together."""
    objectives = judged.get("objectives") or ()
    return next((one for one in objectives if one.get("metric") == metric), {})


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _spark(rows: Sequence[Row], key: str, scale: float = 1.0) -> list[float | None]:
    values = [row[key] for row in rows[-SPARK_POINTS:]]
    return [None if value is None else round(value * scale, 6) for value in values]


def tile(look: Look, seen: Reading, *, invalid: bool = False) -> dict[str, Any]:
    """One tile as the page takes it."""
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
        "status": "none" if invalid else seen.status,
        "judged": not invalid,
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

"""A gate's runs in words: the verdict bar, the badges, the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from controlplane.gates.judging import settle
from controlplane.gates.models import GateRun
from controlplane.runs.verdicts import FINAL
from loadtest.gate_reports.cases import objective_sentence
from measurement.thresholds import SIGNS, Kind, Threshold, plain

WORDS = {
    **FINAL,
    "infrastructure": gettext_lazy("Not judged"),
    "cancelled": gettext_lazy("Cancelled"),
}
TONES = {"infrastructure": "failed"}
"""Where an outcome's shape and colour are another word's."""


def row_of(gate_run: GateRun) -> dict[str, Any]:
    """One call of the gate for a list, judged when it has ended."""
    run = settle(gate_run).run
    outcome = gate_run.outcome
    return {
        "gate_run": gate_run,
        "run": run,
        "tone": TONES.get(outcome, outcome) or run.status,
        "word": WORDS[outcome] if outcome else run.get_status_display(),
        "because": gate_run.because,
    }


def bar_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The newest call as the verdict bar."""
    run, outcome = row["run"], row["gate_run"].outcome
    none = not outcome or outcome in ("infrastructure", "cancelled")
    live = _("Its verdict comes when it has ended; the run's page shows it so far.")
    return {
        "outcome": "none" if none else outcome,
        "word": row["word"],
        "state": _("latest run"),
        "because": row["because"] or live,
        "detail": _("Policy %(policy)s on %(endpoint)s, %(when)s UTC.")
        % {
            "policy": f"{run.policy_version.line.name} {run.policy_version}",
            "endpoint": run.endpoint.name,
            "when": f"{run.created_at:%Y-%m-%d %H:%M}",
        },
    }


def criteria(document: Mapping[str, Any], newest: GateRun | None) -> list[dict[str, Any]]:
    """Each objective and threshold with its numbers in the newest run that was judged."""
    judged = {one["threshold"]: one for one in (newest.thresholds if newest else ())}
    return [
        *(_objective(one) for one in _objectives(newest)),
        *(
            _threshold(Threshold.parse(text), judged.get(text, {}))
            for text in document["spec"]["thresholds"]
        ),
    ]


def _objectives(newest: GateRun | None) -> Sequence[Mapping[str, Any]]:
    return (newest.run.judgement or {}).get("objectives", ()) if newest else ()


def _objective(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": found["label"],
        "sub": _("objective of the SLO"),
        "outcome": found["outcome"],
        "value": percent(found["attainment"]),
        "bounds": _between(percent(found["lower"]), percent(found["upper"])),
        "asked": f"≥ {percent(found['target'])}",
        "n": found["n"],
        "effective_n": found["effective_n"],
        "because": objective_sentence(found),
    }


def _threshold(threshold: Threshold, found: Mapping[str, Any]) -> dict[str, Any]:
    """A percentile's bounds are those of the share within its limit."""
    shared = threshold.measured.kind in (Kind.SHARE, Kind.LATENCY)
    written = percent if shared else number
    low, high = found.get("lower"), found.get("upper")
    bounds = "" if low is None or high is None else _between(written(low), written(high))
    if threshold.percent is not None and bounds:
        bounds = _("%(bounds)s within") % {"bounds": bounds}
    return {
        "name": str(threshold),
        "sub": threshold.label,
        "mono": True,
        "outcome": found.get("outcome", ""),
        "value": _value(threshold, found.get("value")),
        "bounds": bounds,
        "asked": _asked(threshold),
        "n": found.get("n"),
        "effective_n": found.get("effective_n"),
        "because": found.get("because", ""),
    }


def _asked(threshold: Threshold) -> str:
    shared = threshold.measured.kind is Kind.SHARE
    limit = percent(threshold.limit) if shared else f"{plain(threshold.limit)} {_unit(threshold)}"
    return f"{SIGNS[threshold.operator]} {limit}"


def _value(threshold: Threshold, value: float | None) -> str:
    if value is None:
        return "–"
    if threshold.measured.kind is Kind.SHARE:
        return percent(value)
    return f"{number(value)} {_unit(threshold)}"


def _unit(threshold: Threshold) -> str:
    """Short enough for a column."""
    return threshold.measured.unit.replace("requests/", "req/").replace("tokens/", "tok/")


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def _between(low: str, high: str) -> str:
    return f"{low.removesuffix(' %')} – {high}" if high.endswith("%") else f"{low} – {high}"

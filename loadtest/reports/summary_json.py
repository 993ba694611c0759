"""summary.json: every number of a run, its verdict, and what made it; the keys are a contract."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, ClassVar

from loadtest.conclusion import Carried, Conclusion
from loadtest.reports.base import report
from loadtest.shadow_rules import CANNOT_KNOW
from measurement.histogram import Histogram
from schedulers.enforcement import Host, explain


@report
class SummaryJson:
    name: ClassVar[str] = "json"
    summary: ClassVar[str] = "Every number, with the verdict and what made the run."
    filename: ClassVar[str | None] = "summary.json"

    def render(self, conclusion: Conclusion) -> str:
        return json.dumps(document(conclusion), ensure_ascii=False, indent=2) + "\n"


def document(conclusion: Conclusion) -> dict[str, Any]:
    """The object of summary.json. ``verdict`` is the word; ``judgement`` all of it."""
    found = _document(conclusion)
    return _of_a_model(found) if conclusion.seen.model else found


OF_A_CLIENT = ("send_lag_ms", "client_lag_ms")
"""Latencies of whoever sends; a model sends nothing."""
_STIMULUS = ("offered", "sent", "offered_rate", "achieved_rate", "hold_ms", "cv", "dispersion",
    "dispersion_bins", "expected_cv", "expected_dispersion")  # fmt: skip


def _of_a_model(found: dict[str, Any]) -> dict[str, Any]:
    """Without what only a client could tell: a zero there would read as measured."""
    kept = {key: value for key, value in found.items() if key not in OF_A_CLIENT}
    whole = {k: v for k, v in found["cut"]["whole"].items() if k not in OF_A_CLIENT}
    numbers = {k: v for k, v in found["validity"]["numbers"].items() if k in _STIMULUS}
    return kept | {
        "client": None,
        "cut": found["cut"] | {"whole": whole},
        "validity": found["validity"] | {"numbers": numbers},
    }


def _document(conclusion: Conclusion) -> dict[str, Any]:
    scenario, facts, seen = conclusion.scenario, conclusion.facts, conclusion.seen
    return {
        "status": conclusion.status,
        "verdict": conclusion.verdict.outcome,
        "exit_code": conclusion.exit_code,
        "notes": list(conclusion.notes),
        **conclusion.summary.to_json(),
        "failures": _failures(conclusion),
        "judgement": conclusion.verdict.to_json(),
        "validity": conclusion.validity.to_json(),
        "scheduled": facts.scheduled,
        "retries": _retries(conclusion),
        "client": {
            "loop_lag_ms": _lag(seen.loop_lag),
            "cpu_share": seen.cpu_share,
            "throttled": None if seen.throttled is None else asdict(seen.throttled),
            "stood_still_s": [list(stall) for stall in seen.stalls],
            **_carried(seen.carried),
            "slice": f"{facts.slice_number}/{facts.slice_of}",
            "workers": facts.workers,
            "machines": facts.machines,
            **({"by_worker": list(seen.workers)} if seen.workers else {}),
        },
        "policy": _policy(conclusion),
        "shadow": _shadow(conclusion),
        "slo": _slo(conclusion),
        "engine_signals": dict(seen.signals),
        "model": dict(seen.model) or None,
        "endpoint": {
            "name": scenario.endpoint.name,
            "base_url": scenario.endpoint.base_url,
            "model": scenario.endpoint.model,
            "kind": scenario.endpoint.kind,
        },
        "arrivals": scenario.arrivals.name,
        "workload": scenario.workload.name,
        "duration_s": scenario.duration_s,
        "warm_up": scenario.warm_up,
        "warm_up_s": scenario.warm_up_s,
        "seed": scenario.seed,
        "prompt_salt": facts.prompt_salt,
        "scenario_sha256": scenario.sha256,
        "started_at": facts.started_at,
        "version": facts.version,
    }


def _retries(conclusion: Conclusion) -> dict[str, int] | None:
    """Requests that were tried again, and the attempts that failed; None where none may be."""
    return dict(conclusion.retried) if conclusion.scenario.retries else None


def _carried(carried: Carried | None) -> dict[str, Any]:
    """The transport, and where the kernel stamped what it read, how late and how surely."""
    if carried is None:
        return {"transport": None, "connections": None, "proxy": None}
    said = {
        "transport": carried.transport,
        "connections": carried.connections,
        "proxy": carried.proxy,
    }
    receive = carried.receive
    if receive is None:
        return said
    return {
        **said,
        "receive_lag_ms": _lag(receive.lag),
        "clock": {
            "offset_error_us": 1e6 * receive.offset_error,
            "steps": receive.steps,
            "unstamped_reads": receive.unstamped,
            "events_read_together": receive.together,
        },
    }


def _failures(conclusion: Conclusion) -> list[dict[str, Any]]:
    """Each way to fail, most frequent first; warm-up included, as in ``cut.whole``."""
    part = conclusion.summary.whole
    return [
        {
            "outcome": str(outcome),
            "count": count,
            "share": count / part.offered,
            "first_error": conclusion.first_errors.get(str(outcome), ""),
        }
        for outcome, count in sorted(part.outcomes.items(), key=lambda item: -item[1])
        if not outcome.success
    ]


def _policy(conclusion: Conclusion) -> dict[str, Any] | None:
    policy = conclusion.scenario.policy
    if policy is None:
        return None
    points = explain(policy, Host.LOAD_TEST)
    return {
        "name": policy.name,
        "sha256": policy.sha256,
        "enforcement": [
            {"point": str(it.point), "mode": str(it.mode), "why": it.why} for it in points
        ],
        **conclusion.seen.policy,
    }


def _shadow(conclusion: Conclusion) -> dict[str, Any] | None:
    """``report`` is null where the run ended before one was written."""
    shadow, report = conclusion.scenario.shadow, conclusion.seen.shadow
    if shadow is None:
        return None
    return {
        "name": shadow.name,
        "sha256": shadow.sha256,
        "report": report.to_json() if report else None,
        "cannot_know": CANNOT_KNOW,
    }


def _slo(conclusion: Conclusion) -> dict[str, Any] | None:
    slo = conclusion.scenario.slo
    if slo is None:
        return None
    return {"name": slo.metadata.name, "sha256": slo.sha256, "target": slo.target}


def _lag(lag: Histogram | None) -> dict[str, Any] | None:
    if lag is None or not lag.count:
        return None
    found = {name: lag.percentile(q) for name, q in (("p50", 50), ("p99", 99), ("max", 100))}
    return {
        **{name: 1e3 * value for name, value in found.items() if value is not None},
        "n": lag.count,
    }

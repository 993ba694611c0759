"""Runs as evidence for a policy version: its newest, and pairs of two versions under one load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.catalogue.evidence import Entry, Figure, Pair, Side, Source
from controlplane.catalogue.models import PolicyVersion
from controlplane.runs import modelled
from controlplane.runs.models import LIVE, Run, Status
from controlplane.runs.verdicts import judgement_of, verdict
from documents.canonical import sha256

SHOWN = 20
"""Runs listed as evidence of a version."""
LOOKED_AT = 50
"""Of each version, its newest finished runs among which a pair is looked for."""
PAIRS = 3
LOAD = (
    "endpoint",
    "workload",
    "arrivals",
    "slo",
    "tenants",
    "duration_s",
    "warm_up_s",
    "drain_s",
    "timeouts",
)
"""What two scenarios must share to be laid side by side: all but the policy and what is drawn."""


def entries(version: PolicyVersion) -> Iterator[Entry]:
    """The newest runs of it, live ones too."""
    for run in version.runs.with_names()[:SHOWN]:
        judged, said = judgement_of(run), verdict(run)
        plain = run.status in LIVE or said["outcome"] == "none"
        yield Entry(
            what="Engine model" if run.profile else "Load test",
            name=run.short_id,
            href=run.get_absolute_url(),
            where=_where(run),
            at=run.created_at,
            tone=run.status if plain else said["outcome"],
            word=str(run.get_status_display()) if plain else said["word"],
            n=judged.get("n"),
            attainment=judged.get("attainment"),
        )


def pairs(a: PolicyVersion, b: PolicyVersion) -> list[Pair]:
    """For each load that both versions finished a valid run of, the newest of each.

    They ran at different times on an engine in different states, so their difference is a
    description: it carries no interval and no verdict.
    """
    before, after = _newest_by_load(a), _newest_by_load(b)
    shared = sorted(
        (load for load in before if load in after),
        key=lambda load: min(before[load].pk, after[load].pk),
        reverse=True,
    )
    return [_pair(before[load], after[load]) for load in shared[:PAIRS]]


def _newest_by_load(version: PolicyVersion) -> dict[str, Run]:
    runs = version.runs.filter(status=Status.DONE).exclude(verdict="invalid").with_names()
    found: dict[str, Run] = {}
    for run in runs[:LOOKED_AT]:
        load = sha256({name: run.scenario.get(name) for name in LOAD})
        found.setdefault(load, run)
    return found


def _pair(before: Run, after: Run) -> Pair:
    scenario = before.scenario
    arrivals = scenario.get("arrivals") or {}
    rate = arrivals.get("rate")
    words = [
        _where(before),
        str(arrivals.get("process", "")) + (f" {rate:g} req/s" if rate else ""),
        f"{before.duration_s:g} s",
    ]
    slo = before.slo_version
    return Pair(
        load=", ".join(words),
        slo=f"{slo.line.name} {slo}" if slo else "",
        before=_side(before),
        after=_side(after),
        figures=tuple(_figures(before.summary or {}, after.summary or {})),
    )


def _where(run: Run) -> str:
    where = f"{run.workload.name} on {run.target_name}"
    model = modelled.words(run)
    return f"{where}, {model['error']}" if model else where


def _side(run: Run) -> Side:
    return Side(run.short_id, run.get_absolute_url(), run.created_at, run.seed)


def _figures(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Figure]:
    joint = (a.get("attainment_n") or 0, b.get("attainment_n") or 0)
    shares = [one.get("attainment") for one in (a, b)]
    percents = [None if one is None else 100 * one for one in shares]
    yield Figure("Attainment (offered)", "%", 2, percents[0], percents[1], *joint)
    rates = (a.get("goodput_rps"), b.get("goodput_rps"))
    yield Figure("Goodput", "req/s", 2, *rates, a.get("offered") or 0, b.get("offered") or 0)
    for key, name, digits in (("ttft_ms", "TTFT", 0), ("tpot_ms", "TPOT", 1)):
        one, other = a.get(key) or {}, b.get(key) or {}
        ns = (one.get("n") or 0, other.get("n") or 0)
        for percent in ("p50", "p95", "p99"):
            values = (one.get(percent), other.get(percent))
            yield Figure(f"{name} {percent.upper()}", "ms", digits, *values, *ns)


SOURCE = Source(entries=entries, pairs=pairs)

"""The message a gateway's page lives on: what changed after a seq, ready to draw."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from controlplane.gateways import budget_page, figures, reading, states, tiles, waiting
from controlplane.gateways.models import Gateway, GatewayDecision, GatewayFault, GatewayProcess
from controlplane.gateways.recent import SHOWN_S, Recent, recent
from controlplane.runs import phrases
from measurement.slo import Slo
from schedulers.decision import MEANINGS, Reason
from schedulers.inputs import INPUTS

Frame = dict[str, Any]

DECISIONS = 200
LEAST_SHOWN_S = 120.0


def build(gateway: Gateway, *, since: int, now: datetime | None = None) -> Frame:
    """Everything that changed after ``since``; ``full`` when that is everything there is."""
    now = now or timezone.now()
    processes = reading.processes(gateway)
    at = processes[0].at if processes else None
    last = recent(gateway, processes, now)
    doubt = waiting.doubt(gateway, processes, now)
    seen = states.facts(gateway, processes, last, now)
    arms = figures.arms_of(gateway)
    until = at if at is not None else now.timestamp()
    budgets = budget_page.rows(gateway, doubt)
    newer = since <= 0 or gateway.budgets.filter(seq__gt=since).exists()
    return {
        "type": "frame",
        "full": since <= 0,
        "seq": gateway.seq,
        "run": {
            "status": "running",
            "revision": gateway.revision,
            "updated_at": _z(gateway.seen_at or now),
            "until": until,
            "from": _from(processes, until),
        },
        "verdict": states.state(seen).to_json(),
        "tiles": tiles.tiles(last, processes, budgets, doubt),
        "arms": arms,
        "cohorts": figures.rows(gateway, arms, until, since=since),
        "lanes": figures.lanes(gateway, until, since=since),
        "table": _lanes(gateway, processes),
        "tenants": _tenants(last),
        "decisions": _decisions(gateway, since),
        "faults": faults(gateway),
        "budget": budget_page.course(gateway, now) if newer else None,
        "summaries": {**_sentences(last), "budget": budget_page.sentence(budgets)},
    }


def _from(processes: list[GatewayProcess], until: float) -> float:
    """Where figures begin: a young gateway's at its start."""
    first = min((process.since for process in processes), default=until)
    return max(until - SHOWN_S, min(first, until - LEAST_SHOWN_S))


def page(gateway: Gateway) -> dict[str, Any]:
    """What the page needs to know once."""
    slo = gateway.slo_version
    arms = figures.arms_of(gateway)
    objectives = Slo.parse(slo.document) if slo else None
    return {
        "figures": figures.specs(gateway, objectives),
        "budget": budget_page.figure(objectives, overspent=_overspent(gateway))
        if objectives
        else None,
        "budget_columns": budget_page.columns(objectives) if objectives else [],
        "columns": figures.columns(arms),
        "inputs": dict(INPUTS),
        "lane_columns": figures.LANE_COLUMNS,
        "lanes": list(gateway.lanes),
        "arms": arms,
        "revision": gateway.revision,
    }


def _overspent(gateway: Gateway) -> bool:
    lefts = [row["left"] for row in budget_page.rows(gateway, None)]
    return any(left is not None and left < 0 for left in lefts)


def faults(gateway: Gateway) -> list[dict[str, Any]]:
    """What was refused since the wanted revision was made, the newest first."""
    rows = GatewayFault.objects.filter(gateway=gateway, heard_at__gte=gateway.published_at)[:10]
    return [
        {"at": _z(row.heard_at), "code": row.code, "problems": row.problems, "boot": row.boot[:8]}
        for row in rows
    ]


def _z(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _lanes(gateway: Gateway, processes: list[GatewayProcess]) -> list[dict[str, Any]]:
    """One row a lane and process; a configured lane that nobody reports shows as such."""
    rows = [
        {
            "lane": lane["lane"],
            "process": process.boot[:8],
            "arm": lane["arm"],
            "policy": states.name_of(gateway, lane["policy"]),
            "block": lane["block"],
            **{name: lane[name] for name in ("limit", "in_flight", "waiting")},
            "overdue": lane.get("overdue", 0),
            "quiet": phrases.clock(lane["quiet_s"]) if waiting.stalled(lane) else "",
            "endpoints": lane["endpoints"],
        }
        for process in processes
        for lane in process.lanes
    ]
    known = {row["lane"] for row in rows}
    for name, ends in gateway.lanes.items():
        if name not in known:
            unheard = [{"name": end.slug, "up": None, "in_flight": None} for end in ends]
            rows.append({"lane": name, "process": "", "arm": "", "policy": "", "block": None,
                         "limit": None, "in_flight": None, "waiting": None, "overdue": 0,
                         "quiet": "", "endpoints": unheard})  # fmt: skip
    return sorted(rows, key=lambda row: (row["lane"], row["process"]))


def _tenants(last: Recent) -> list[dict[str, Any]]:
    total = sum(row.output_tokens for row in last.cohort.tenants.values())
    late = last.waiting.tenants
    judged = {n: row.met + row.missed + late.get(n, 0) for n, row in last.cohort.tenants.items()}
    return [
        {
            "tenant": name,
            "offered": row.offered,
            "rate": row.offered / last.seconds,
            "attainment": row.met / judged[name] if judged[name] else None,
            "late": late.get(name, 0),
            "target": last.slo.target_for(name) if last.slo else None,
            "shed": row.shed,
            "token_share": row.output_tokens / total if total else None,
        }
        for name, row in sorted(last.cohort.tenants.items(), key=lambda one: -one[1].offered)
    ]


def _decisions(gateway: Gateway, since: int) -> list[dict[str, Any]]:
    rows = GatewayDecision.objects.filter(gateway=gateway, seq__gt=since).order_by("-pk")
    return [
        {
            "n": row.pk,
            "lane": row.lane,
            "shadow": row.shadow,
            "meaning": MEANINGS[Reason(row.data["reason"])],
            **row.data,
        }
        for row in rows[:DECISIONS]
    ]


def _sentences(last: Recent) -> dict[str, str]:
    """One a figure, about the minutes that tiles are about."""
    cohort, when = last.cohort, f"in the last {last.span}"
    if not cohort.offered:
        names = ("load", "ttft", "tpot", "attainment")
        return dict.fromkeys(names, f"No request {when}.")
    share = last.attainment.value
    said = {"load": f"{cohort.offered:,} requests {when}, now {last.rate:.1f} /s."}
    for metric, digits in (("ttft", 0), ("tpot", 1)):
        known = [value for value in getattr(cohort, metric).percentiles((50.0, 99.0)) if value]
        words = [phrases.number(1e3 * value, digits) for value in known]
        said[metric] = f"P50 {words[0]} ms, P99 {words[1]} ms {when}." if len(words) == 2 else ""
    judged = "Nothing is judged yet." if share is None else f"{phrases.share(share)} % {when}."
    if last.waiting.overdue:
        judged += f" {phrases.number(last.waiting.overdue)} of the missed wait still."
    return {**said, "attainment": judged}

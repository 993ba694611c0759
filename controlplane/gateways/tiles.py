"""The numbers on top of a gateway's page: its last minutes, and what is left of its budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from controlplane.gateways.models import GatewayProcess
from controlplane.gateways.recent import Recent
from controlplane.gateways.waiting import Doubt
from controlplane.runs import phrases
from controlplane.runs.panels.latency_base import NEEDED, limit
from controlplane.runs.shares import REFUSED as REFUSALS
from controlplane.runs.tiles import ATTAINMENT, REFUSED, TPOT, TTFT, Look, Reading, tile
from measurement.batch_means import effective_n
from measurement.proportion import Share

RATE = Look("rate", "Requests", "req/s", 1)
LEFT = Look("budget", "Error budget left", "%", 1, 100.0, bad="below", floor=None, ceiling=1.0)
STATUS = {"ok": "ok", "page": "bad", "ticket": "warn"}
IN_FLIGHT = Look("in_flight", "In flight", "requests", 0)


def tiles(
    recent: Recent,
    processes: Sequence[GatewayProcess],
    budgets: Sequence[Mapping[str, Any]] = (),
    doubt: Doubt | None = None,
) -> list[dict[str, Any]]:
    """In the order of the page; the budget of all objectives once it has been looked at.

    In ``doubt`` no tile meets anything: what ended before says nothing of now. A miss stays one.
    """
    found = _known(recent, processes, budgets)
    return found if doubt is None else [_doubted(one, doubt) for one in found]


def _doubted(made: dict[str, Any], doubt: Doubt) -> dict[str, Any]:
    if made["status"] == "bad" or made["target"] is None:
        return made
    return made | {"status": "none", "word": doubt.word}


def _known(
    recent: Recent, processes: Sequence[GatewayProcess], budgets: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    return [
        _late(tile(ATTAINMENT, _attainment(recent)), recent.waiting.overdue),
        *(_left(budget) for budget in budgets if budget["scope"] == "joint"),
        *(_latency(recent, look, name) for look, name in ((TTFT, "ttft"), (TPOT, "tpot"))),
        tile(RATE, Reading(recent.rate if recent.windows else None, recent.cohort.offered)),
        tile(REFUSED, _refused(recent)),
        _in_flight(processes),
    ]


def _late(made: dict[str, Any], count: int) -> dict[str, Any]:
    """Says how many of a tile's misses wait still."""
    if count:
        said = _("%(n)s waiting past their objective, counted as missed")
        made["note"] = said % {"n": phrases.number(count)}
    return made


def _attainment(recent: Recent) -> Reading:
    share, target = recent.attainment, recent.slo.target if recent.slo else None
    return _reading(share, target)


def _left(budget: Mapping[str, Any]) -> dict[str, Any]:
    """Of the SLO's period; red where an alert pages, or nothing is left."""
    status = "bad" if budget["spent"] else STATUS.get(budget["state"], "none")
    made = tile(LEFT, Reading(budget["left"], budget["n"], target=0.0, status=status))
    made["word"] = str(budget["word"])
    if budget["burns"]:
        fast = budget["burns"][0]
        made["rows"] = [[f"burn, {fast['long_seen'] or fast['long']}", fast["long_text"]]]
    return made


def _refused(recent: Recent) -> Reading:
    cohorts = [window.cohort for window in recent.windows]
    hits = [sum(c.outcomes.get(one, 0) for one in REFUSALS) for c in cohorts]
    sizes = [cohort.resolved for cohort in cohorts]
    return _reading(Share(sum(hits), sum(sizes), effective_n(sizes, hits)), None)


def _reading(share: Share, target: float | None) -> Reading:
    low, high = share.interval() if share.n else (None, None)
    return Reading(
        value=share.value if share.n else None,
        n=share.n,
        low=low,
        high=high,
        effective_n=round(share.effective_n) if share.n else None,
        target=target,
        status=_status(low, high, target),
    )


def _status(low: float | None, high: float | None, target: float | None) -> str:
    """By the interval: what it holds on both sides of the target is not told yet."""
    if target is None or low is None or high is None:
        return "none"
    return "ok" if low >= target else "bad" if high < target else "warn"


def _latency(recent: Recent, look: Look, name: str) -> dict[str, Any]:
    histogram = getattr(recent.cohort, name)
    p50, p95, p99 = histogram.percentiles((50.0, 95.0, 99.0))
    metric, slo = f"{name}_ms", recent.slo
    objective = next((one for one in slo.objectives if one.metric == metric), None) if slo else None
    status = "none"
    if slo is not None and objective is not None and recent.objective(metric).n:
        low, high = recent.objective(metric).interval()
        status = _status(low, high, slo.target_of(objective))
    made = tile(
        look,
        Reading(
            value=None if p99 is None else p99 * 1e3,
            n=histogram.count,
            target=limit(slo, metric),
            status=status,
            enough=histogram.count >= NEEDED["p99"],
        ),
    )
    made["rows"] = [
        [label, "–" if value is None else f"{look.text(value * 1e3)} ms"]
        for label, value in (("P50", p50), ("P95", p95))
    ]
    late = recent.waiting.by.get(metric, 0)
    if late:
        said = _("%(n)s waiting past it, not in the percentiles yet")
        made["note"] = said % {"n": phrases.number(late)}
    return made


def _in_flight(processes: Sequence[GatewayProcess]) -> dict[str, Any]:
    """Now, over all lanes of all live processes, against the limits that hold."""
    lanes = [lane for process in processes for lane in process.lanes]
    sums = {name: sum(lane[name] for lane in lanes) for name in ("in_flight", "limit", "waiting")}
    made = tile(IN_FLIGHT, Reading(float(sums["in_flight"]) if lanes else None, None))
    made["n_text"] = phrases.count(len(lanes), "lane") if lanes else "–"
    made["rows"] = [
        [name, phrases.number(sums[key]) if lanes else "–"]
        for name, key in (("limit", "limit"), ("queue", "waiting"))
    ]
    late = sum(lane.get("overdue", 0) for lane in lanes)
    if late:
        made["rows"].append(["late already", phrases.number(late)])
    return made

"""What a gateway's page draws: rows by arm, and each lane against its limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.gateways.models import STEP, Gateway, GatewayGauge, GatewayWindow
from controlplane.gateways.recent import ROWS_S, SHOWN_S, by_arm
from controlplane.runs.panels.latency_base import NEEDED, limit
from measurement.slo import Slo
from measurement.window import Window

ARMS = {"active": "s1", "baseline": "s1", "candidate": "s2", "rest": "s0"}
"""Each arm's hue."""
COLUMNS = ("offered", "attainment", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99", "e2e_p99")
LANE_COLUMNS = ("t", "in_flight", "limit", "waiting")

Numbers = list[float | int | None]


def arms_of(gateway: Gateway) -> list[str]:
    """Those that figures draw: a comparison's while it lasts, else what serves."""
    return ["baseline", "candidate", "rest"] if gateway.canary is not None else ["active"]


def columns(arms: Sequence[str]) -> list[str]:
    """Keys of a row, in order."""
    return ["t", "open", "n", *(f"{arm}_{name}" for arm in arms for name in COLUMNS)]


def rows(gateway: Gateway, arms: Sequence[str], until: float, *, since: int) -> dict[str, Any]:
    """Rows whose windows changed after that seq, as the page's tables take them."""
    oldest = (int(until) - SHOWN_S) // STEP
    changed = GatewayWindow.objects.filter(gateway=gateway, seq__gt=since, index__gte=oldest)
    busy = _starts(changed)
    found = by_arm(gateway, busy)
    starts = sorted(busy | _quiet(gateway, oldest, until, since=since))
    return {
        "step": ROWS_S,
        "rows": [_row(start, found.get(start, {}), arms, until) for start in starts],
    }


def _quiet(gateway: Gateway, oldest: int, until: float, *, since: int) -> set[int]:
    """Rows that are over and in which somebody listened: without windows, nobody asked."""
    heard = GatewayGauge.objects.filter(gateway=gateway, seq__gt=since, index__gte=oldest)
    busy = GatewayWindow.objects.filter(gateway=gateway, index__gte=oldest)
    idle = _starts(heard) - _starts(busy)
    return {start for start in idle if start + ROWS_S <= until}


def _starts(found: Any) -> set[int]:
    """Where the rows begin that hold these windows or gauges."""
    return {index * STEP // ROWS_S * ROWS_S for index in found.values_list("index", flat=True)}


def _row(start: int, found: Mapping[str, Window], arms: Sequence[str], until: float) -> Numbers:
    drawn = [found.get(arm) for arm in arms]
    answered = [window.cohort.e2e.count for window in drawn if window is not None]
    pending = any(window.cohort.pending for window in found.values())
    seconds = max(1.0, min(float(ROWS_S), until - start))
    values: Numbers = [start, int(pending or until < start + ROWS_S), min(answered, default=0)]
    nobody: Numbers = [None if "active" in found else 0, *[None] * (len(COLUMNS) - 1)]
    for window in drawn:
        values += nobody if window is None else _values(window, seconds)
    return values


def _values(window: Window, seconds: float) -> Numbers:
    cohort = window.cohort
    share = cohort.attainment
    values: Numbers = [
        round(cohort.offered / seconds, 3),
        None if share is None else round(100 * share, 3),
    ]
    for metric in ("ttft", "tpot"):
        for value in getattr(cohort, metric).percentiles((50.0, 99.0)):
            values.append(None if value is None else round(1e3 * value, 3))
    last = cohort.e2e.percentile(99.0)
    values.append(None if last is None else round(last, 3))
    return values


def lanes(gateway: Gateway, until: float, *, since: int) -> dict[str, dict[str, Any]]:
    """Each lane's gauges by window, all processes together."""
    oldest = (int(until) - SHOWN_S) // STEP
    known = GatewayGauge.objects.filter(gateway=gateway, index__gte=oldest)
    touched = set(known.filter(seq__gt=since).values_list("lane", "index"))
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in known.filter(index__in={index for _lane, index in touched}):
        total = sums[row.lane, row.index]
        for place, value in enumerate((row.in_flight, row.limit, row.waiting)):
            total[place] += value
    found: dict[str, dict[str, Any]] = {name: {"step": STEP, "rows": []} for name in gateway.lanes}
    for (lane, index), total in sorted(sums.items()):
        if lane in found and (lane, index) in touched:
            found[lane]["rows"].append([index * STEP, *total])
    return found


def specs(gateway: Gateway, slo: Slo | None) -> list[dict[str, Any]]:
    """How each figure looks."""
    arms = arms_of(gateway)
    shown = [arm for arm in arms if arm != "rest"]
    target = None if slo is None else 100 * slo.target
    bounds = [] if target is None else [{"y": target, "label": f"SLO ≥ {target:g} %"}]
    figures = [
        _spec("load", "Load", "requests per second", "/s") | {"series": _each(arms, "offered", 1)},
        _latency(shown, slo, ("ttft", "TTFT", "as clients waited, ms")),
        _latency(shown, slo, ("tpot", "TPOT", "ms per token")),
        _spec("attainment", "Attainment", "% of offered", "%")
        | {"series": _each(shown, "attainment", 2), "marks": bounds, "y": {"max": 100}},
    ]
    return figures + [_lane(name) for name in gateway.lanes]


def _lane(name: str) -> dict[str, Any]:
    series = [
        {"key": "in_flight", "label": "In flight", "color": "s0", "fill": 0.14},
        {"key": "limit", "label": "Limit", "color": "s1", "step": True},
        {"key": "waiting", "label": "Queue", "color": "s2", "dash": "p95"},
    ]
    made = _spec(f"lane-{name}", f"Lane {name}", "requests: in flight, limit, queue", "")
    return made | {"series": series, "source": "events", "lane": name}


def _latency(arms: Sequence[str], slo: Slo | None, named: tuple[str, str, str]) -> dict[str, Any]:
    metric, title, sub = named
    series = _percentiles(arms, metric, 0 if metric == "ttft" else 1)
    return _spec(metric, title, sub, "ms") | {"series": series, "marks": _marks(slo, metric)}


def _spec(id_: str, title: str, sub: str, unit: str) -> dict[str, Any]:
    return {
        "id": id_,
        "title": title,
        "sub": sub,
        "unit": unit,
        "source": "cohorts",
        "series": [],
        "marks": [],
        "y": {"min": 0},
        "scale_toggle": False,
    }


def _marks(slo: Slo | None, metric: str) -> list[dict[str, Any]]:
    allowed = limit(slo, f"{metric}_ms")
    return [] if allowed is None else [{"y": allowed, "label": f"SLO ≤ {allowed:g} ms"}]


def _each(arms: Sequence[str], name: str, digits: int) -> list[dict[str, Any]]:
    return [
        {"key": f"{arm}_{name}", "label": arm.capitalize(), "color": ARMS[arm], "d": digits}
        for arm in arms
    ]


def _percentiles(arms: Sequence[str], metric: str, digits: int) -> list[dict[str, Any]]:
    """P50 dotted, P99 solid; grey under their n."""
    few = len(arms) == 1
    return [
        {
            "key": f"{arm}_{metric}_{name}",
            "label": name.upper() if few else f"{arm.capitalize()} {name.upper()}",
            "color": ARMS[arm],
            "dash": name,
            "d": digits,
            "grey_under_n": NEEDED[name],
        }
        for arm in arms
        for name in ("p50", "p99")
    ]

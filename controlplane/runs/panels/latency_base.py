"""What the latency panels share: three percentiles of one hue, and a sentence about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from controlplane.runs import phrases
from controlplane.runs.panels.base import Column, Figure, Mark, Number, Series, Shown
from measurement.quantiles import minimum_n
from measurement.slo import Slo
from measurement.window import Window

NEEDED = {name: minimum_n(float(name[1:])) for name in ("p99", "p95", "p50")}
"""Requests below which a percentile is drawn grey."""

GREY = {
    "p99": "",
    "p95": f" P99 is grey: most cohorts have fewer than {NEEDED['p99']} answers.",
    "p50": f" P95 and P99 are grey: most cohorts have fewer than {NEEDED['p95']} answers.",
}
"""What is said of the percentiles above the one that is judged."""

MILLISECONDS = 1000.0
SECONDS = 1.0


def _percentile(metric: str, q: float, scale: float, window: Window) -> Number:
    found = getattr(window.cohort, metric).percentile(q)
    return None if found is None else round(found * scale, 4)


def columns(metric: str, scale: float) -> dict[str, Column]:
    """P50, P95 and P99 of one metric."""
    read: Callable[..., Number] = _percentile
    return {f"{metric}_p{q}": partial(read, metric, float(q), scale) for q in (50, 95, 99)}


def series(metric: str, digits: int) -> list[Series]:
    """P50 dotted, P95 dashed, P99 solid; all of one hue, and each grey under its own n."""
    return [
        Series(
            f"{metric}_{name}",
            name.upper(),
            dash=name,
            d=digits,
            grey_under_n=NEEDED[name],
        )
        for name in ("p50", "p95", "p99")
    ]


def limit(slo: Slo | None, metric: str) -> float | None:
    """What the objective on this metric allows, in the objective's own unit."""
    objectives = slo.objectives if slo else ()
    return next((one.max for one in objectives if one.metric == metric), None)


def figure(metric: str, *, title: str, sub: str, digits: int, slo: Slo | None) -> Figure:
    """A latency figure in ms with its objective."""
    allowed = limit(slo, f"{metric}_ms")
    marks = [] if allowed is None else [Mark(allowed, f"SLO ≤ {allowed:g} ms")]
    return Figure(title, sub, "ms", series(metric, digits), marks=marks, scale_toggle=True)


def sentence(metric: str, shown: Shown, *, allowed: float | None, unit: str, digits: int) -> str:
    """How the highest percentile that the cohorts can bear compares with its objective."""
    rows = [row for row in shown.closed if row.n]
    if not rows:
        return "No cohort with an answer has closed yet."
    name = next(
        (q for q, n in NEEDED.items() if 2 * sum(row.n >= n for row in rows) >= len(rows)), ""
    )
    if not name:
        return f"Too few answers to judge: most cohorts have fewer than {NEEDED['p50']}."
    fit = [row for row in rows if row.n >= NEEDED[name] and row[f"{metric}_{name}"] is not None]
    values = [row[f"{metric}_{name}"] or 0.0 for row in fit]
    if not fit:
        return "No values: these answers have none."
    over = [row for row in fit if allowed is not None and (row[f"{metric}_{name}"] or 0) > allowed]
    if allowed is None:
        low, high = (phrases.number(value, digits) for value in (min(values), max(values)))
        said = f"{name.upper()} between {low} and {high} {unit}; no objective."
    elif over:
        where = f"first at {phrases.clock(over[0].at)}"
        said = (
            f"{name.upper()} above {allowed:g} {unit} in {len(over)} of "
            f"{phrases.count(len(fit), 'cohort')}, {where}."
        )
    else:
        said = (
            f"{name.upper()} at most {phrases.number(max(values), digits)} {unit} in "
            f"{phrases.count(len(fit), 'cohort')}; the objective allows {allowed:g} {unit}."
        )
    return said + GREY[name]

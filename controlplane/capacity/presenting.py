"""A plan as the page draws it: every method on one plot, and each with its distance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from controlplane.runs import phrases
from measurement.capacity import planning
from measurement.capacity.estimate import Estimate
from measurement.capacity.observed import Observed
from measurement.capacity.planning import Plan

STEPS = 60
ROOM = 1.15
"""How far the plots go past the highest load that was measured."""


def highest(plan: Plan) -> float:
    """The right end of the plots, in requests/s; a load for many instances is not on it."""
    return ROOM * max([*(row.point.rate for row in plan.rows), plan.knee.load or 0.0])


def figures(plan: Plan, model: Sequence[Observed], top: float) -> dict[str, Any]:
    """Requests in flight by every method, and TTFT as measured, over the offered load."""
    points = [row.point for row in plan.rows]
    own = {round(p.rate, 6) for p in [*points, *model]}
    rates = sorted({*own, *(round(top * step / STEPS, 6) for step in range(1, STEPS + 1))})
    spans = _spans(plan)
    flight = {
        "id": "in-flight",
        "title": "Requests in flight",
        "sub": "over offered requests/s",
        "unit": "",
        "series": [
            _dots("Measured", "s1"),
            _line("Little", "s3", "p95"),
            _line("Batching balance", "s2", "none"),
            _line("P–K", "s4", "p50"),
            _line("Engine model", "s0", "none"),
        ],
        "columns": [
            _at(rates, {p.rate: p.in_flight for p in points}),
            _between(rates, [(row.point.rate, row.in_flight.value) for row in plan.rows]),
            planning.curve(points, plan.steps, rates) if plan.steps else [None] * len(rates),
            _waiting(plan, points, rates),
            _between(rates, [(p.rate, p.in_flight) for p in model]),
        ],
        "y": {"min": 0, "max": _ceiling(points, model)},
        "said": _said(plan),
    }
    late = {
        "id": "latency",
        "title": "TTFT P95",
        "sub": "from intended start, ms, over offered requests/s",
        "unit": "ms",
        "series": [_dots("Measured", "s1"), _line("Engine model", "s0", "none")],
        "columns": [
            _at(rates, {p.rate: _ms(p.latency) for p in points}),
            _between(rates, [(p.rate, _ms(p.latency)) for p in model]),
        ],
        "y": {"min": 0},
        "said": "Twice its floor is where latency has left it.",
    }
    return {"figures": [flight, late], "x": rates, "range": [0, top], "spans": spans}


def _waiting(plan: Plan, points: Sequence[Observed], rates: Sequence[float]) -> list[float | None]:
    """P–K's wait in the same unit: λ · (wait + the time that a request takes at the least load)."""
    if plan.steps is None:
        return [None] * len(rates)
    free = min((p.moments.e2e for p in points if p.moments and p.moments.e2e), default=None)
    found = planning.waits(points, plan.steps, rates)
    return [
        None if wait is None or free is None else rate * (wait + free)
        for rate, wait in zip(rates, found, strict=True)
    ]


def _ceiling(points: Sequence[Observed], model: Sequence[Observed]) -> float:
    """A balance that goes to infinity must not flatten what was measured."""
    seen = [p.in_flight for p in [*points, *model] if p.in_flight]
    return 1.5 * max(seen, default=1.0)


def _spans(plan: Plan) -> list[dict[str, Any]]:
    if plan.knee.recommended is None:
        return []
    low, high = plan.knee.recommended
    return [{"from": low, "to": high, "kind": "open", "label": "70–80 %"}]


def _dots(label: str, color: str) -> dict[str, Any]:
    return {"label": label, "color": color, "dash": "none", "d": 1, "dots": True}


def _line(label: str, color: str, dash: str) -> dict[str, Any]:
    return {"label": label, "color": color, "dash": dash, "d": 1}


def _at(rates: Sequence[float], values: dict[float, float | None]) -> list[float | None]:
    """A dot at each measured load and nothing between."""
    known = {round(rate, 6): value for rate, value in values.items()}
    return [known.get(rate) for rate in rates]


def _between(
    rates: Sequence[float], points: Sequence[tuple[float, float | None]]
) -> list[float | None]:
    """Straight lines from point to point; nothing beyond the ends."""
    known = sorted((rate, value) for rate, value in points if value is not None)
    if not known:
        return [None] * len(rates)
    return [_interpolated(rate, known) for rate in rates]


def _interpolated(rate: float, known: Sequence[tuple[float, float]]) -> float | None:
    for (x0, y0), (x1, y1) in pairwise(known):
        if x0 - 1e-6 <= rate <= x1 + 1e-6:
            return y0 if x1 == x0 else y0 + (y1 - y0) * (rate - x0) / (x1 - x0)
    return known[0][1] if len(known) == 1 and abs(rate - known[0][0]) < 1e-6 else None


def _said(plan: Plan) -> str:
    knee = plan.knee
    if knee.load is None:
        return f"No knee: {knee.because}."
    return f"Knee at {phrases.number(knee.load, 1)} requests/s: {knee.because}."


def rows(plan: Plan) -> list[dict[str, Any]]:
    """What each method says at each measured load."""
    return [
        {
            "rate": phrases.number(row.point.rate, 2),
            "served": phrases.number(row.point.served, 2),
            "attainment": phrases.share(row.point.attainment),
            "ttft": phrases.number(_ms(row.point.latency), 0),
            "in_flight": phrases.number(row.point.in_flight, 1),
            "methods": [
                told(row.in_flight, 1),
                told(row.sequences, 1),
                told(row.wait, 1, scale=1e3),
            ],
        }
        for row in plan.rows
    ]


def told(one: Estimate | None, digits: int, scale: float = 1.0) -> dict[str, str]:
    """A number with its distance from the measurement."""
    if one is None or one.value is None:
        return {"text": phrases.NOTHING, "off": one.note.partition(":")[0] if one else ""}
    off = "" if one.off is None else f"{100 * one.off:+.0f} %".replace("-", "−")
    return {"text": phrases.number(scale * one.value, digits), "off": off}


def assumptions(plan: Plan) -> list[dict[str, Any]]:
    """What each method takes for granted, once."""
    estimates = [
        one for row in plan.rows for one in (row.in_flight, row.sequences, row.wait) if one
    ]
    methods = {one.method: one.assumes for one in estimates}
    found = {"Instances": plan.instances.assumes, **methods}
    return [{"method": method, "assumes": assumes} for method, assumes in found.items()]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds

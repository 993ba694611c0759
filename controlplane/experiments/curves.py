"""An experiment's curves as its page draws them: means over seeds, and how far seeds lie apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from controlplane.experiments.lines import LINES
from loadtest.reproduce.curve import Curve, Line
from loadtest.reproduce.rendering import number
from loadtest.reproduce.series import Series
from loadtest.reproduce.table import HEADS, Reproduction

_LARGE = 1000.0
"""From here on no fraction is shown."""
_LOOKS = dict(zip(HEADS, LINES, strict=True)) | {"": ("", "s4", "none")}


def specs(found: Reproduction) -> Iterator[dict[str, Any]]:
    """One a curve, without the end of the axis where no line has a point."""
    for place, curve in enumerate(found.curves):
        yield _spec(place, curve)


def _spec(place: int, curve: Curve) -> dict[str, Any]:
    last = max(
        (
            at
            for one in curve.lines
            for at, series in enumerate(one.points)
            if _mean(series) is not None
        ),
        default=0,
    )
    shown = slice(0, last + 1)
    means = [mean for one in curve.lines for mean in map(_mean, one.points) if mean is not None]
    digits = 0 if max(means, default=0.0) > _LARGE else 1
    return {
        "id": f"curve-{place}",
        "title": curve.measure[:1].upper() + curve.measure[1:],
        "case": curve.case,
        "unit": curve.unit,
        "along": curve.along,
        "x": curve.x[shown],
        "series": [_look(one, digits) for one in curve.lines],
        "columns": [[_mean(series) for series in one.points[shown]] for one in curve.lines],
        "bands": [_band(one, shown) for one in curve.lines],
        "spans": [
            {"from": one.start, "to": one.end, "kind": "warm", "label": one.words}
            for one in curve.shades
        ],
        "said": _said(curve),
    }


def _label(line: Line) -> str:
    label = _LOOKS[line.head][0]
    if label and line.note:
        return f"{label} ({line.note})"
    return label or line.note[:1].upper() + line.note[1:]


def _look(line: Line, digits: int) -> dict[str, Any]:
    return {"label": _label(line), "color": _LOOKS[line.head][1], "dash": "none", "d": digits}


def _mean(series: Series) -> float | None:
    """None where it is of fewer than all seeds."""
    return series.mean if math.isfinite(series.mean) else None


def _band(line: Line, shown: slice) -> dict[str, Any]:
    """From the lowest seed to the highest."""
    whole = [series if _mean(series) is not None else None for series in line.points[shown]]
    return {
        "color": _LOOKS[line.head][1],
        "low": [min(series.values) if series else None for series in whole],
        "high": [max(series.values) if series else None for series in whole],
    }


def _said(curve: Curve) -> str:
    """The worst of each line and where it lies: the lowest of what is in time, else the highest."""
    least = curve.measure.startswith("in time")
    worst = min if least else max
    parts = []
    for one in curve.lines:
        seen = [(mean, at) for mean, at in zip(map(_mean, one.points), curve.x, strict=True)
                if mean is not None]  # fmt: skip
        if seen:
            most, at = worst(seen, key=lambda pair: pair[0])
            parts.append(f"{_label(one)} {number(most)} (at {_place(curve.along, at)})")
    return f"{'Lowest' if least else 'Highest'}: {', '.join(parts)}." if parts else ""


def _place(along: str, at: float) -> str:
    return f"{along} {at:g}" if along == "hour" else f"{at:g} {along}"

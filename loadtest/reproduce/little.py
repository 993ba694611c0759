"""Little's law against a count: what was inside on average, and λ·W of what came then.

L is the number inside, stepped through every coming and leaving; λ and W are of those that came
within the same span. The two are one number only where a span's edges weigh little: where the
queue grows, who came has not left, and λ·W counts the stay of those alone that did.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from loadtest.reproduce.plan import cell
from loadtest.reproduce.series import Series
from loadtest.reproduce.table import Finding, Row

Stay = tuple[float, float]
"""When one came, and when it left: infinity where it was still inside."""


def counted(stays: Sequence[Stay], start: float, end: float) -> dict[str, float]:
    """``inside``: L over [start, end) by count; ``came``: λ a second; ``stay``: W in seconds of
    those that came then and left (infinity where nobody did); ``by_law``: λ·W; ``off``: how far it
    is from L, in %."""
    inside = _mean_inside(stays, start, end)
    then = [(came, left) for came, left in stays if start <= came < end]
    ended = [left - came for came, left in then if math.isfinite(left)]
    rate = len(then) / (end - start)
    stay = sum(ended) / len(ended) if ended else math.inf
    off = 100.0 * (rate * stay / inside - 1.0) if inside else 0.0
    return {"inside": inside, "came": rate, "stay": stay, "by_law": rate * stay, "off": off}


def _mean_inside(stays: Sequence[Stay], start: float, end: float) -> float:
    """The mean of the count over the span."""
    changes = [(came, 1) for came, _ in stays] + [(left, -1) for _, left in stays]
    at = np.clip([moment for moment, _ in changes], start, end)
    order = np.argsort(at, kind="stable")
    count = np.cumsum(np.array([step for _, step in changes])[order])
    spans = np.diff(np.append(at[order], end))
    return float(np.sum(count * spans)) / (end - start)


def rows_of(rate: float, seen: Mapping[str, Series]) -> list[Row]:
    """λ, W, the count and λ·W at one load."""
    case = f"Little's law, {rate:g} requests/s"
    return [
        Row(case=case, measure="λ, came", unit="a second", reference=cell(seen["came"])),
        Row(
            case=case, measure="W, stay of those that left", unit="s", reference=cell(seen["stay"])
        ),
        Row(
            case=case,
            measure="L, inside, mean over time",
            unit="requests",
            reference=cell(seen["inside"], "counted"),
            optimum=cell(seen["by_law"], "λ·W"),
        ),
        Row(case=case, measure="λ·W off the count", unit="%", reference=cell(seen["off"])),
    ]


def explained(own: Mapping[float, Mapping[str, Series]], knee: float) -> Finding:
    """How far the law is off below the knee, and past it."""
    low, past = min(own), min(rate for rate in own if rate > knee)
    steady, growing = own[low], own[past]
    return Finding(
        "Little's law tells whether a load is steady, and past the knee none is: at "
        f"{low:g} a second λ·W is within {max(map(abs, steady['off'].values)):.1f} % of the count "
        f"inside, {steady['inside'].mean:.1f}; at {past:g} the queue grows as long as arrivals "
        f"last, and no seed has it within {min(map(abs, growing['off'].values)):.0f} % of the "
        f"{growing['inside'].mean:,.0f} inside.",
        max(map(abs, steady["off"].values)) < 5.0 and min(map(abs, growing["off"].values)) > 15.0,
    )

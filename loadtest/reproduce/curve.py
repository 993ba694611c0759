"""What changes along a run, a day or a sweep: a curve a law, each point measured with each seed.

A run's numbers are floats by name, so a curve's points are numbers of their own there: ``points``
names them and ``line`` finds them again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadtest.reproduce.series import Series

MOST_POINTS = 120
_DIGITS = 4
"""A picture shows no more of a number."""


@dataclass(frozen=True, slots=True)
class Line:
    """``head``: under which head of the table its law stands, empty where under none and the note
    says what it is. A point of infinity: nothing there."""

    head: str
    points: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shade:
    """A part of the axis that has a name, such as a burst."""

    start: float
    end: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One measure along ``along``, at most ``MOST_POINTS`` points a line, all of them at ``x``."""

    case: str
    measure: str
    unit: str
    along: str
    x: tuple[float, ...]
    lines: tuple[Line, ...]
    shades: tuple[Shade, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.x) <= MOST_POINTS:
            raise ValueError(f"a curve has 1 to {MOST_POINTS} points, not {len(self.x)}")
        if any(len(line.points) != len(self.x) for line in self.lines):
            raise ValueError("each line of a curve has a point at every x")


def points(key: str, values: Sequence[float]) -> dict[str, float]:
    """The numbers that a run gives for a curve."""
    return {f"{key} @{place}": _short(value) for place, value in enumerate(values)}


def line(head: str, numbers: Mapping[str, Series], key: str, count: int, note: str = "") -> Line:
    """The first ``count`` points that runs gave under that key."""
    return Line(head, tuple(numbers[f"{key} @{place}"] for place in range(count)), note)


def mean_in(at: Sequence[float], values: Sequence[float], edges: Sequence[float]) -> list[float]:
    """The mean of the values whose time lies between each edge and the next; infinity for none."""
    place = np.digitize(at, edges)  # 0: before the first edge
    bins = len(edges) + 1
    count = np.bincount(place, minlength=bins)[1:-1]
    total = np.bincount(place, weights=values, minlength=bins)[1:-1]
    return [float(s / n) if n else math.inf for s, n in zip(total, count, strict=True)]


def as_json(curve: Curve) -> dict[str, Any]:
    """Every value of every seed; infinities are null."""
    return {
        "case": curve.case,
        "measure": curve.measure,
        "unit": curve.unit,
        "along": curve.along,
        "x": list(curve.x),
        "lines": [
            {
                "head": one.head,
                "note": one.note,
                "values": [[_finite(value) for value in series.values] for series in one.points],
            }
            for one in curve.lines
        ],
        "shades": [[one.start, one.end, one.words] for one in curve.shades],
    }


def read(given: Mapping[str, Any]) -> Curve:
    """What ``as_json`` was made from."""
    lines = [
        Line(
            one["head"],
            tuple(Series(tuple(map(_number, values))) for values in one["values"]),
            one["note"],
        )
        for one in given["lines"]
    ]
    return Curve(
        case=given["case"],
        measure=given["measure"],
        unit=given["unit"],
        along=given["along"],
        x=tuple(given["x"]),
        lines=tuple(lines),
        shades=tuple(Shade(*one) for one in given["shades"]),
    )


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.inf if value is None else value

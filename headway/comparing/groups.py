"""Beside how requests paired: each tenant, each length of prompt, ratios, and what limits them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loadtest.column_files import in_columns
from loadtest.recorder import SCENARIO, SUMMARY, read_samples
from loadtest.same_stimulus import Finished, check
from measurement.block_bootstrap import ratio_interval
from measurement.columns import SampleColumns
from measurement.latencies import OF_SUCCESSES, WITH_INTERVALS, only_successes
from measurement.quantiles import Interval
from measurement.side_by_side import Group, Row, SideBySide, Value, side_by_side

WIDTH = 80
PERCENTS = (50, 95, 99)
SEED = 20_260
"""Of the bootstrap: the same two runs give the same words."""
Ratios = dict[str, Interval]


@dataclass(frozen=True, slots=True)
class More:
    found: SideBySide
    ratios: Ratios

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        told = {name: interval.to_json() for name, interval in self.ratios.items()}
        return {**self.found.to_json(), "ratios": told}

    def text(self) -> str:
        """Tables for a terminal of 80 columns."""
        lines = ["", _head("steady part"), *_rows(self.found.rows, self.ratios)]
        for title, groups in (("tenant", self.found.tenants), ("prompt", self.found.bands)):
            lines += _groups(title, groups)
        lines += ["", "What can't be concluded:"]
        for sentence in self.found.cannot:
            lines += textwrap.wrap(f"- {sentence}", WIDTH, subsequent_indent="  ")
        return "\n".join(lines) + "\n"


def more(a: Path, b: Path) -> More | None:
    """From both runs' reports; None where one has none. DocumentError where one was not finished,
    had an invalid stimulus, or was asked something else."""
    runs = [_read(name, path) for name, path in (("a", a), ("b", b))]
    first, second = runs
    if first is None or second is None:
        return None
    found = side_by_side(first.summary, second.summary, check(first, second))
    return More(found, dict(_ratios((a, first), (b, second), SEED)))


def _read(name: str, path: Path) -> Finished | None:
    try:
        scenario, summary = (json.loads((path / f).read_text("utf-8")) for f in (SCENARIO, SUMMARY))
    except (OSError, ValueError):
        return None
    return Finished(name, scenario, summary)


def _ratios(
    a: tuple[Path, Finished], b: tuple[Path, Finished], seed: int
) -> Iterator[tuple[str, Interval]]:
    """B's percentiles over A's, by a block bootstrap of the samples; none without samples."""
    rng = np.random.default_rng(seed)
    with in_columns(read_samples(a[0])) as first, in_columns(read_samples(b[0])) as second:
        kept = _steady(first, a[1]), _steady(second, b[1])
        for metric in WITH_INTERVALS:  # one after the other: a column of each run is held
            of = only_successes(OF_SUCCESSES[metric])
            values = [columns.known(of) for columns in kept]
            for percent in PERCENTS if all(map(len, values)) else ():
                name = f"{metric.removesuffix('_ms').upper()} P{percent}"
                yield name, ratio_interval(values[0], values[1], percent, rng)


def _steady(columns: SampleColumns, run: Finished) -> SampleColumns:
    """What its report is about: warm-up is cut."""
    return columns.since((run.summary.get("cut") or {}).get("warm_up_s", 0.0))


def _groups(title: str, groups: tuple[Group, ...]) -> list[str]:
    """Nothing where there is only one, which is the whole run again."""
    if len(groups) < 2:
        return []
    lines = []
    for group in groups:
        lines += ["", _head(f"{title} {group.name}"), *_rows(group.rows, {})]
    return lines


def _head(title: str) -> str:
    return f"{title:<30}{'A':>12}{'B':>12}{'B − A':>12}   B / A, 95 %"


def _rows(rows: tuple[Row, ...], ratios: Ratios) -> list[str]:
    lines = []
    for row in rows:
        unit = "%" if row.unit == "share" else row.unit
        label = f"{row.name}, {unit}"
        change = "–" if row.delta is None else _number(row.delta, row.unit, sign="+")
        line = f"{label:<30}{_value(row.a, row.unit):>12}{_value(row.b, row.unit):>12}{change:>12}"
        lines.append(f"{line}   {_ratio(ratios.get(row.name))}".rstrip())
    return lines


def _ratio(found: Interval | None) -> str:
    if found is None or found.low is None or found.high is None:
        return ""
    return f"{found.low:.2f} to {found.high:.2f}"


def _value(value: Value, unit: str) -> str:
    if value.value is None:
        return "–"
    return f"{'~' if value.rough else ''}{_number(value.value, unit)}"


def _number(value: float, unit: str, sign: str = "") -> str:
    shown = 100 * value if unit == "share" else value
    digits = 2 if unit == "share" or abs(shown) < 100 else 0
    return f"{shown:{sign},.{digits}f}"

"""``headway compare`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from documents.problem import DocumentError, Problem
from headway.running.saying import say
from loadtest.printable import printable
from loadtest.recorder import SCENARIO, SUMMARY, read_samples
from loadtest.same_stimulus import Finished, check
from measurement.block_bootstrap import ratio_interval
from measurement.latencies import OF_SUCCESSES, WITH_INTERVALS
from measurement.quantiles import Interval
from measurement.side_by_side import NEXT, Group, Row, SideBySide, Value, side_by_side
from measurement.summary import steady_samples
from measurement.verdict import EXIT_CODES

WIDTH = 80
PERCENTS = (50, 95, 99)
Ratios = dict[str, Interval]


def compare_in_shell(args: argparse.Namespace) -> int:
    """Read, check, print."""
    try:
        a, b = (_read(name, path) for name, path in (("a", args.a), ("b", args.b)))
        found = side_by_side(a.summary, b.summary, check(a, b))
    except DocumentError as error:
        for problem in error.problems:
            say(f"headway compare: {printable(str(problem))}\n", sys.stderr)
        return EXIT_CODES["bad_configuration"]
    ratios = dict(_ratios((args.a, a), (args.b, b), args.seed))
    if args.json:
        told = {name: interval.to_json() for name, interval in ratios.items()}
        document = {**found.to_json(), "ratios": told, "seed": args.seed}
        text = json.dumps(document, ensure_ascii=False, indent=2)
    else:
        text = _told(found, ratios)
    say(text + "\n", sys.stdout)
    return EXIT_CODES["pass"]


def _read(name: str, path: Path) -> Finished:
    documents: list[dict[str, Any]] = []
    for file in (SCENARIO, SUMMARY):
        try:
            found = json.loads((path / file).read_text("utf-8"))
        except (OSError, ValueError) as error:
            message = f"holds no finished run: {file} can't be read: {error}"
            raise DocumentError([Problem(name, str(path), message)]) from None
        if not isinstance(found, dict):
            raise DocumentError([Problem(name, str(path), f"{file} must hold an object")])
        documents.append(found)
    return Finished(name, documents[0], documents[1])


def _ratios(
    a: tuple[Path, Finished], b: tuple[Path, Finished], seed: int
) -> Iterator[tuple[str, Interval]]:
    """B's percentiles over A's, by a block bootstrap of the samples; none without samples."""
    rng = np.random.default_rng(seed)
    kept = [_steady(path, run) for path, run in (a, b)]
    for metric in WITH_INTERVALS:
        of = OF_SUCCESSES[metric]
        values = [[value for value in map(of, samples) if value is not None] for samples in kept]
        for percent in PERCENTS if all(values) else ():
            name = f"{metric.removesuffix('_ms').upper()} P{percent}"
            yield name, ratio_interval(values[0], values[1], percent, rng)


def _steady(path: Path, run: Finished) -> list[Any]:
    cut = (run.summary.get("cut") or {}).get("warm_up_s", 0.0)
    samples = sorted(read_samples(path), key=lambda sample: (sample.intended_at, sample.index))
    return [sample for sample in steady_samples(samples, cut) if sample.outcome.success]


def _told(found: SideBySide, ratios: Ratios) -> str:
    lines = ["Description, no verdict.", "", _head("whole run"), *_rows(found.rows, ratios)]
    for title, groups in (("tenant", found.tenants), ("prompt", found.bands)):
        lines += _groups(title, groups)
    lines += ["", "What can't be concluded:"]
    for sentence in (*found.cannot, NEXT):
        lines += textwrap.wrap(f"- {sentence}", WIDTH, subsequent_indent="  ")
    return printable("\n".join(lines))


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

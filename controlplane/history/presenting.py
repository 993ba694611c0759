"""A history as the page draws it: lines over runs, levels between changes, rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controlplane.history.series import METRICS, Change, Metric
from controlplane.runs import phrases
from controlplane.runs.models import Run
from controlplane.runs.panels.latency_base import NEEDED

FIGURES = (
    ("ttft", "TTFT", "from intended start, ms", ("ttft_p50", "ttft_p95", "ttft_p99"), "ttft_p95"),
    ("tpot", "TPOT", "ms per output token", ("tpot_p50", "tpot_p95", "tpot_p99"), "tpot_p95"),
    ("attainment", "Attainment", "% of offered", ("attainment",), "attainment"),
)
"""Each with its lines, and the one whose level is drawn."""


def figures(found: Sequence[Run], changes: Sequence[Change]) -> dict[str, Any]:
    """For the page's script: x is the place of a run in its series."""
    labels = [f"{run.created_at:%Y-%m-%d %H:%M} {run.short_id}" for run in found]
    specs = []
    for name, title, sub, lines, levelled in FIGURES:
        columns = [[METRICS[line].of(run.summary or {}) for run in found] for line in lines]
        specs.append(
            {
                "id": name,
                "title": title,
                "sub": sub,
                "unit": METRICS[lines[0]].unit,
                "series": [*(_line(line, lines) for line in lines), _LEVEL],
                "columns": [*columns, _level(found, changes, levelled)],
                "weak": [[_weak(run, line) for run in found] for line in lines],
                "y": {"max": 100} if name == "attainment" else {"min": 0},
                "said": _said([c for c in changes if c.name in lines]),
            }
        )
    return {"figures": specs, "labels": labels}


_LEVEL = {"label": "Level", "color": "s3", "dash": "none", "step": True, "d": 1}


def _line(name: str, lines: Sequence[str]) -> dict[str, Any]:
    if len(lines) == 1:
        return {"label": METRICS[name].title, "color": "s1", "dash": "none", "d": 2}
    percent = name.rpartition("_")[2]
    return {"label": percent.upper(), "color": "s1", "dash": percent, "d": 1}


def _weak(run: Run, name: str) -> bool:
    """Whether n is too small for the percentile."""
    metric, _, percent = name.rpartition("_")
    if percent not in NEEDED:
        return False
    found = (run.summary or {}).get(f"{metric}_ms") or {}
    return bool((found.get("n") or 0) < NEEDED[percent])


def _level(found: Sequence[Run], changes: Sequence[Change], name: str) -> list[float | None]:
    """The median between two changes of that metric, at each run; null where nothing changed."""
    own = [change for change in reversed(changes) if change.name == name]
    if not own:
        return [None] * len(found)
    place = {run.pk: at for at, run in enumerate(found)}
    level: list[float | None] = [own[0].point.before] * len(found)
    for change in own:
        for at in range(place[change.run.pk], len(found)):
            level[at] = change.point.after
    return level


def _said(changes: Sequence[Change]) -> str:
    if not changes:
        return "No change of level."
    newest = changes[0]
    return f"{len(changes)} {'change' if len(changes) == 1 else 'changes'}; {words(newest)}."


def words(change: Change) -> str:
    """``TTFT P95 from 210.0 to 260.0 ms (+24 %)``."""
    metric, point = change.metric, change.point
    before, after = _number(metric, point.before), _number(metric, point.after)
    relative = "" if point.relative is None else f" ({100 * point.relative:+.0f} %)"
    more = "" if metric.unit == "%" else relative.replace("-", "−")
    return f"{metric.title} from {before} to {after} {metric.unit}{more}"


def rows(found: Sequence[Run], most: int) -> list[dict[str, Any]]:
    """The newest runs in a table."""
    return [
        {
            "run": run,
            "cells": [
                _number(METRICS[name], METRICS[name].of(run.summary or {}))
                for name in ("ttft_p50", "ttft_p95", "tpot_p50", "tpot_p95", "attainment")
            ],
        }
        for run in reversed(found[-most:])
    ]


def _number(metric: Metric, value: float | None) -> str:
    return phrases.number(value, 2 if metric.unit == "%" else 1)

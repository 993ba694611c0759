"""A comparison in words and cells: what its bar, its tables and its list say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.comparisons.models import Comparison, Status
from controlplane.runs.phrases import NOTHING, number, share
from controlplane.runs.verdicts import WITHOUT
from measurement.comparison.block import Block
from measurement.comparison.plan import ComparisonPlan

WORDS = {
    "pass": ("Passing", "Passed"),
    "harm": ("Harm", "Harm"),
    "inconclusive": ("Not sure yet", "Inconclusive"),
    "invalid": ("Invalid", "Invalid"),
}
"""While it goes on, and in the end."""
STARTING = ("Starting", "No block has ended yet.")
PERCENTILES = ("p50", "p95", "p99")
LATENCIES = (("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("e2e_ms", "E2E"))


def verdict(comparison: Comparison) -> dict[str, str]:
    """Outcome for the colour, word, state and reasons; ``none`` while nothing can be said."""
    judged = comparison.verdict or {}
    outcome, because = str(judged.get("outcome", "")), str(judged.get("because", ""))
    notes = [*_notes(comparison), *judged.get("reasons", ())]
    told = (str(note) for note in notes)
    detail = " ".join(note for note in told if note[1:].rstrip(".") not in because)
    state = "so far" if comparison.is_live else "final"
    status = Status(comparison.status)
    if status in (Status.DONE, Status.RUNNING) and outcome in WORDS:
        word = WORDS[outcome][0 if comparison.is_live else 1]
        return _said(outcome, state, word, because, detail)
    word, said = STARTING if status == Status.RUNNING else WITHOUT[status]
    kept = f"Measured until then: {because}" if because else detail
    return _said("none", state, word, comparison.reason or said, kept)


def criteria(comparison: Comparison) -> list[dict[str, Any]]:
    """One row a criterion, every number that its verdict rests on, in points."""
    rows = (comparison.verdict or {}).get("criteria") or []
    return [
        {
            "name": row["name"],
            "label": row["label"],
            "outcome": row["outcome"],
            "k": number(row["k"]) + _unused(row.get("unused", 0)),
            "n": f"{number(row['baseline']['offered'])} / {number(row['candidate']['offered'])}",
            "baseline": _percent(row["baseline_rate"]),
            "candidate": _percent(row["candidate_rate"]),
            "m": _points(row["m"]),
            "low": _sum(row["m"], row["r_harm"], -1),
            "high": _sum(row["m"], row["r_pass"], +1),
            "harm_margin": _points(row["harm_margin"]),
            "pass_margin": _points(row["pass_margin"]),
            "pooled": number(row["pooled"]),
            "detectable": _points(row["detectable"]),
            "unseen": _percent(row["unseen"]),
        }
        for row in rows
    ]


def _unused(blocks: int) -> str:
    """Blocks in which an arm had no answer to judge by."""
    return f" (and {number(blocks)} without a value)" if blocks else ""


def arms(comparison: Comparison) -> list[dict[str, str]]:
    """Both arms side by side over the closed blocks: attainment, what failed, percentiles."""
    totals = comparison.live.get("totals") or (comparison.result or {}).get("arms") or {}
    a, b = totals.get("baseline") or {}, totals.get("candidate") or {}
    if not a or not b:
        return []
    rows = [
        _row("Requests", number(a["judged"]), number(b["judged"]), ""),
        _row("Attainment", *_pair(a["attainment"], b["attainment"], _percent, 100, " points")),
        _row("Failed", number(a["failed"]), number(b["failed"]), ""),
    ]
    for name, title in LATENCIES:
        for percentile in PERCENTILES:
            values = (_latency(arm, name, percentile) for arm in (a, b))
            rows.append(_row(f"{title} {percentile.upper()}", *_pair(*values, _ms, 1, " ms")))
    return rows


def block_row(block: Block, arms: Mapping[str, Any], plan: ComparisonPlan) -> dict[str, Any]:
    """One block as the table shows it."""
    cells = []
    for criterion in plan.criteria:
        a, b = (arm.count(criterion.name) for arm in block.arms)
        difference = block.difference(criterion.name)
        cells.append(f"{a.bad} / {b.bad}")
        cells.append(_points(difference))
    for name in ("ttft_ms", "tpot_ms"):
        pair = (_latency(arms.get(arm) or {}, name, "p95") for arm in ("baseline", "candidate"))
        cells.append(" / ".join(_ms(value) for value in pair))
    return {
        "index": block.index,
        "order": block.order,
        "n": f"{block.baseline.judged} / {block.candidate.judged}",
        "cells": cells,
        "faults": [*block.baseline.faults, *block.candidate.faults],
    }


def block_columns(plan: ComparisonPlan) -> list[str]:
    """Headings of the cells of ``block_row``."""
    found = []
    for criterion in plan.criteria:
        found += [f"{criterion.label}: bad, A / B", "D, points"]
    return [*found, "TTFT P95, A / B", "TPOT P95, A / B"]


def power_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """What the plan could find, as it was told before the start."""
    return power_of(comparison.power)


def power_of(power: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same of any plan's power."""
    return [
        {
            "criterion": one["criterion"],
            "gap": _points(one["gap"]),
            "harm": share(one["harm"], 0),
            "passes": share(one["pass"], 0),
            "warnings": one["warnings"],
        }
        for one in power
    ]


def _notes(comparison: Comparison) -> Sequence[str]:
    """Sentences that a reader must not miss: a model's error stands there from the start."""
    if comparison.result:
        return comparison.result.get("notes", ())
    model = comparison.live.get("model")
    if not model:
        return ()
    modelled = comparison.where == Comparison.Where.MODEL
    what = "the engine model" if modelled else "simulated engines"
    return (f"Numbers of {what}, profile {model['profile']}: {model['error']}",)


def _latency(arm: Mapping[str, Any], name: str, percentile: str) -> float | None:
    """Also of few requests: a block has no more."""
    found = arm.get(name) or {}
    value = found.get(percentile)
    return (found.get("rough") or {}).get(percentile) if value is None else value


def _pair(a: float | None, b: float | None, form: Any, factor: float, unit: str) -> tuple[str, ...]:
    if a is None or b is None:
        return form(a), form(b), ""
    change = factor * (b - a)
    sign = "+" if change > 0 else ""
    return form(a), form(b), f"{sign}{number(change, 1)}{unit}"


def _row(label: str, a: str, b: str, change: str) -> dict[str, str]:
    return {"label": label, "baseline": a, "candidate": b, "change": change}


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{share(value)} %"


def _points(value: float | None) -> str:
    return NOTHING if value is None else number(100 * value, 2)


def _sum(m: float | None, r: float | None, sign: int) -> str:
    return NOTHING if m is None or r is None else _points(m + sign * r)


def _ms(value: float | None) -> str:
    return NOTHING if value is None else f"{number(value, 1 if value < 100 else 0)} ms"


def _said(outcome: str, state: str, word: str, because: str, detail: str) -> dict[str, str]:
    return {
        "outcome": outcome,
        "state": state,
        "word": word,
        "because": because,
        "detail": detail,
    }

"""Four ways in which a thousand refused clients come back to a queue of a hundred."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from loadtest.reproduce.plan import Plan, cell, law, measure
from loadtest.reproduce.series import Series, below
from loadtest.reproduce.table import Finding, Row
from schedulers.decision import DecisionPoint
from simulator.plants import storm

TOLD_S = 5.0
"""The source's text says 5, its header 3, its body 3,500 ms."""
PATIENT = 20
MEASURES = (
    ("attempts", "attempts for each success", ""),
    ("served", "served", "%"),
    ("seconds", "until the last is served", "s"),
    ("peak", "come back in the fullest 100 ms", ""),
)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A retry law's parameters, and what the server tells."""

    name: str
    parameters: dict[str, float]
    tell: Callable[[float], float | None] | None = None
    """As ``storm.storm`` takes it."""


def _constant(_now: float) -> float | None:
    return TOLD_S


def _nothing(_now: float) -> float | None:
    return None


EXACT = Behaviour("exactly 5 s later", {"base_ms": 1.0, "cap_ms": 1.0}, _constant)
ADDED = Behaviour("5 s and full jitter", {}, _constant)
ALONE = Behaviour("full jitter alone", {}, _nothing)
DRAIN = Behaviour("told by the drain, full jitter", {})


def _played(how: Behaviour, seed: int) -> dict[str, float]:
    def make() -> Any:
        return law(DecisionPoint.RETRY, "full_jitter", max_attempts=PATIENT, **how.parameters)

    seen = storm.storm(make, seed, tell=how.tell)
    return {
        "attempts": seen.attempts / seen.served,
        "served": 100.0 * seen.served / storm.CLIENTS,
        "seconds": seen.seconds,
        "peak": float(seen.peak),
    }


def play(plan: Plan) -> tuple[list[Row], list[Finding]]:
    """The source's constant, its jitter with and without it, and times told by the drain."""
    reference = {one.name: _seen(plan, one) for one in (EXACT, ADDED, ALONE)}
    ours = _seen(plan, DRAIN)
    rows = [
        Row(
            case=f"retry storm: {name}",
            measure=words,
            unit=unit,
            reference=cell(numbers[key]),
            corrected=cell(ours[key]),
            optimum=cell(storm.IDEAL_S) if key == "seconds" else None,
        )
        for name, numbers in reference.items()
        for key, words, unit in MEASURES
    ]
    exact, alone = reference[EXACT.name], reference[ALONE.name]
    sentence = (
        "One constant Retry-After brings everybody back together: "
        f"{exact['peak'].mean:.0f} in one 100 ms and {exact['attempts'].mean:.1f} attempts for "
        f"each success; full jitter without it {alone['peak'].mean:.0f} and "
        f"{alone['attempts'].mean:.1f}; told one after another by the drain "
        f"{ours['peak'].mean:.0f} and {ours['attempts'].mean:.1f}."
    )
    held = all(
        below(ours[key], numbers[key])
        for numbers in reference.values()
        for key in ("attempts", "peak")
    )
    return rows, [Finding(sentence, held and below(alone["peak"], exact["peak"]))]


def _seen(plan: Plan, how: Behaviour) -> Mapping[str, Series]:
    return measure(plan, partial(_played, how))

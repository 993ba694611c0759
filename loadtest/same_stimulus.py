"""Whether two finished runs were asked the same, and what else stands against comparing them.

Two numbers under two loads compare the loads. So anything that decides what was asked must be
equal, both must have asked it (valid, to the end), and a closed loop, whose engine makes its load,
must have come to the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from documents.in_words import value_in_words
from documents.problem import DocumentError, Problem

DECIDES = ("workload", "arrivals", "duration_s", "tenants")
"""Fields of a scenario that decide what is asked and when."""
_BESIDE_A_MEASURED_ONE = (
    "was not measured, so a difference is the model's error and the policies' together, and they "
    "can't be told apart: one smaller than the stated error says nothing."
)
_WHAT_A_MODEL_LACKS = (
    "What the model has not (network, client, other load on the machine, an engine's warm-up) is "
    "in the other run's numbers alone. To hold two policies against each other, take two measured "
    "runs, or two of the model."
)
_BOTH_MODELLED = (
    "Both are the engine model's: nothing was measured, and a difference is what the model makes "
    "of the two policies, not what an engine would."
)
_TWO_PROFILES = "The profiles differ, so a difference may be the engines'."
UNEQUAL_LOAD = 0.05
"""Closed loops whose requests per second differ by more were not under one load."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's scenario document and its summary. ``name`` is how problems call it."""

    name: str
    scenario: Mapping[str, Any]
    summary: Mapping[str, Any]


def check(a: Finished, b: Finished) -> tuple[str, ...]:
    """What limits the comparison, in sentences; DocumentError names every inequality instead."""
    problems = [problem for run in (a, b) for problem in _unfit(run)]
    for field in DECIDES:
        problems += _unequal(field, a.name, a.scenario.get(field), b.scenario.get(field))
    if not problems and a.scenario["arrivals"]["process"] == "closed":
        problems += _closed(a, b)
    if problems:
        raise DocumentError(problems)
    return tuple(_caveats(a, b))


def _unequal(path: str, whose: str, one: Any, other: Any) -> list[Problem]:
    """Each value that differs, down to the innermost field."""
    if (one or {}) == (other or {}):
        return []
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        names = sorted({*one, *other})
        parts = (_unequal(f"{path}.{at}", whose, one.get(at), other.get(at)) for at in names)
        return [problem for part in parts for problem in part]
    theirs = value_in_words(path, one)
    differs = f"differs from {whose}'s{theirs and ' ' + theirs}"
    remedy = f"the stimulus is not equal; run it again with {whose}'s, or choose another run"
    return [Problem(path, other, f"{differs}: {remedy}")]


def _unfit(run: Finished) -> list[Problem]:
    summary = run.summary
    if summary.get("status") != "finished":
        message = (
            "was not finished, so it was not asked all that its scenario says; choose one that was"
        )
        return [Problem(run.name, summary.get("status"), message)]
    if summary.get("verdict") == "invalid":
        because = (summary.get("judgement") or {}).get("because", "")
        return [Problem(run.name, "invalid", f"can't be compared; choose a valid run. {because}")]
    return []


def _closed(a: Finished, b: Finished) -> list[Problem]:
    rates = [run.summary.get("offered_rate") or 0.0 for run in (a, b)]
    if max(rates) <= (1 + UNEQUAL_LOAD) * min(rates):
        return []
    told = f"{rates[1]:.3g} requests/s came of the closed loop, where {a.name} had {rates[0]:.3g}"
    return [Problem(b.name, rates[1], f"{told}: the load is not equal; compare open loops")]


def _caveats(a: Finished, b: Finished) -> list[str]:
    found = []
    if a.scenario.get("seed") != b.scenario.get("seed"):
        found.append(
            "The seeds differ: arrivals and lengths are two draws of one process, and part of any "
            "difference is the luck of the draw."
        )
    if (a.scenario.get("slo") or {}) != (b.scenario.get("slo") or {}):
        found.append("The SLOs differ, so attainment and goodput are not of the same objectives.")
    modelled = [run for run in (a, b) if run.summary.get("model")]
    if modelled:
        found += _of_models(modelled, a, b)
    elif _place(a) != _place(b):
        found.append("The endpoints differ: what differs may be the engine and not the policy.")
    cuts = [(run.summary.get("cut") or {}).get("warm_up_s", 0.0) for run in (a, b)]
    if cuts[0] != cuts[1]:
        found.append(f"Their warm-up was cut at {cuts[0]:g} s and {cuts[1]:g} s.")
    return found


def _of_models(modelled: list[Finished], a: Finished, b: Finished) -> list[str]:
    """What a model's numbers can't say, beside a measurement's or another model's."""
    told = [f"{run.name}: {run.summary['model'].get('label', '')}" for run in modelled]
    if len(modelled) == 1:
        return [*told, f"{modelled[0].name} {_BESIDE_A_MEASURED_ONE}", _WHAT_A_MODEL_LACKS]
    same = a.summary["model"].get("profile") == b.summary["model"].get("profile")
    return [*told, _BOTH_MODELLED, *(() if same else (_TWO_PROFILES,))]


def _place(run: Finished) -> tuple[Any, Any]:
    endpoint = run.scenario.get("endpoint") or {}
    return endpoint.get("base_url"), endpoint.get("model")

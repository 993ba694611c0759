"""What of a gate's run is judged, one case each: the run itself, each objective, each threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from measurement.because import percents
from measurement.objective_verdict import FAIL, INVALID, PASS

GateRun = Mapping[str, Any]
"""The object of ``GET /api/v1/gates/{slug}/runs/{id}``; docs/gates.md names its fields."""


@dataclass(frozen=True, slots=True)
class Case:
    """``outcome`` is pass, fail, or the word for why there is neither."""

    name: str
    outcome: str
    because: str

    @property
    def passed(self) -> bool:
        return self.outcome == PASS

    @property
    def failed(self) -> bool:
        """Measured, and not good enough; all else that did not pass could not be told."""
        return self.outcome == FAIL


def cases_of(run: GateRun) -> list[Case]:
    """The run first: whether it came to an end, and was the stimulus that was asked for."""
    return [_run(run), *_objectives(run), *_thresholds(run)]


def _run(run: GateRun) -> Case:
    name = "run: ended, with the load that was asked for"
    judged = bool(run["objectives"] or run["thresholds"])
    if judged and run["outcome"] not in (INVALID, "infrastructure", "cancelled"):
        return Case(name, PASS, "")
    return Case(name, str(run["outcome"] or "infrastructure"), str(run["because"]))


def _objectives(run: GateRun) -> Iterator[Case]:
    for row in run["objectives"]:
        yield Case(f"objective: {row['label']}", row["outcome"], objective_sentence(row))


def objective_sentence(row: Mapping[str, Any]) -> str:
    """An objective's verdict, from its JSON, in words."""
    if not row["n"]:
        return "No request has an outcome."
    values = (row["attainment"] or 0.0, row["lower"], row["upper"], row["target"])
    share, lower, upper, target = percents(*values)
    met = "had no error" if row["metric"] == "error" else f"met {row['label']}"
    return (
        f"{share} of {row['n']:,} offered requests {met}; the target is {target}, "
        f"and the one-sided 95 % bounds are {lower} and {upper}."
    )


def _thresholds(run: GateRun) -> Iterator[Case]:
    for row in run["thresholds"]:
        yield Case(f"threshold: {row['threshold']}", row["outcome"], row["because"])

"""Two finished runs side by side: a description of what was, never a verdict.

They ran one after the other, on whatever the engine was then, and nobody drew which came first. So
a difference may be the policy's or the hour's, and nothing here tells the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from documents.problem import DocumentError, Problem
from loadtest import facts, recorder
from loadtest.column_files import in_columns
from loadtest.scenario import Scenario
from loadtest.simulation.stand_in import NOWHERE
from measurement.column_block import Bools, Floats
from measurement.columns import SampleColumns
from measurement.comparison.paired_replay import pair
from measurement.judgements import Judgements
from measurement.latencies import only_successes
from measurement.part import Part
from measurement.slo import Slo

NOT_SHOWN = (
    "No verdict: the runs were one after the other, so what differs may be the hour's and not the "
    "policy's. headway ab draws which engine runs which policy, block by block, and can tell."
)


@dataclass(frozen=True)
class Described:
    """Shares are of the pairs that both runs have an outcome for."""

    names: tuple[str, str]
    parts: tuple[Part, Part]
    pairs: int
    only_a_bad: int
    only_b_bad: int
    both_bad: int
    ttft_change_ms: float | None
    """Median over the pairs that both answered: B's TTFT less A's."""
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "a": {"policy": self.names[0], **self.parts[0].to_json()},
            "b": {"policy": self.names[1], **self.parts[1].to_json()},
            "pairs": {
                "n": self.pairs,
                "only_a_bad": self.only_a_bad,
                "only_b_bad": self.only_b_bad,
                "both_bad": self.both_bad,
                "ttft_change_ms": self.ttft_change_ms,
            },
            "notes": list(self.notes),
        }


def describe(a: Path, b: Path) -> Described:
    """Pair the requests of two run directories.

    DocumentError where one is no run; UnequalStimulus where they were not asked the same.
    """
    scenario, other = _scenario(a, "a"), _scenario(b, "b")
    slo = scenario.slo or other.slo
    with (
        in_columns(recorder.read_samples(a)) as first,
        in_columns(recorder.read_samples(b)) as second,
    ):
        pairs = pair(first, second)
        bad = [
            _bad(first, slo)[pairs.baseline],
            _bad(second, slo)[pairs.candidate],
        ]
        changes = _ttft(second)[pairs.candidate] - _ttft(first)[pairs.baseline]
        known = changes[~np.isnan(changes)]
        return Described(
            names=(_name(scenario), _name(other)),
            parts=(_part(first, scenario, slo), _part(second, other, slo)),
            pairs=len(pairs),
            only_a_bad=int((bad[0] & ~bad[1]).sum()),
            only_b_bad=int((~bad[0] & bad[1]).sum()),
            both_bad=int((bad[0] & bad[1]).sum()),
            ttft_change_ms=1e3 * float(np.median(known)) if len(known) else None,
            notes=(NOT_SHOWN, *_differences(scenario, other)),
        )


def _scenario(out: Path, side: str) -> Scenario:
    try:
        return facts.read(out)[0]
    except (OSError, ValueError) as error:
        message = f"is no directory of a run: {error}"
        raise DocumentError([Problem(side, str(out), message)]) from None


def _part(columns: SampleColumns, scenario: Scenario, slo: Slo | None) -> Part:
    return Part.of(Judgements.of(columns, slo), start=0.0, end=scenario.duration_s)


def _name(scenario: Scenario) -> str:
    return scenario.policy.name if scenario.policy else "no policy"


def _bad(columns: SampleColumns, slo: Slo | None) -> Bools:
    found = Judgements.of(columns, slo)
    return ~(found.met | found.excluded)


def _ttft(columns: SampleColumns) -> Floats:
    """NaN where there was no answer."""
    return columns.values(only_successes(lambda block: block.ttft))


def _differences(a: Scenario, b: Scenario) -> list[str]:
    """What else is not the same, beside the policy."""
    found = []
    if a.endpoint != b.endpoint:
        first, second = a.endpoint.base_url, b.endpoint.base_url
        played = [first, second].count(NOWHERE)
        found.append(
            (
                f"They asked two endpoints, {first} and {second}, which may differ too.",
                "The engine model played one of them, an endpoint answered the other.",
                "The engine model played both, not with the same engine profile.",
            )[played]
        )
    if (a.slo and a.slo.to_document()) != (b.slo and b.slo.to_document()):
        found.append("They have two SLOs; both are judged by the first one's.")
    if not a.prompt_salt or a.prompt_salt != b.prompt_salt:
        found.append("Lengths were the same and words were not, as each run draws its own.")
    return found

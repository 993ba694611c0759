"""Two finished runs side by side: a description of what was, never a verdict.

They ran one after the other, on whatever the engine was then, and nobody drew which came first. So
a difference may be the policy's or the hour's, and nothing here tells the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest import facts, recorder
from loadtest.scenario import Scenario
from loadtest.simulation.stand_in import NOWHERE
from measurement.comparison.paired_replay import Pair, pair
from measurement.part import Part
from measurement.sample import Sample
from measurement.slo import Slo, judge

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
    (scenario, samples), (other, others) = _read(a, "a"), _read(b, "b")
    pairs = pair(samples, others)
    slo = scenario.slo or other.slo
    bad = [(_bad(one.baseline, slo), _bad(one.candidate, slo)) for one in pairs]
    changes = [_ttft(one) for one in pairs]
    known = [change for change in changes if change is not None]
    return Described(
        names=(_name(scenario), _name(other)),
        parts=(_part(samples, scenario, slo), _part(others, other, slo)),
        pairs=len(pairs),
        only_a_bad=bad.count((True, False)),
        only_b_bad=bad.count((False, True)),
        both_bad=bad.count((True, True)),
        ttft_change_ms=1e3 * median(known) if known else None,
        notes=(NOT_SHOWN, *_differences(scenario, other)),
    )


def _read(out: Path, side: str) -> tuple[Scenario, list[Sample]]:
    try:
        scenario, _ = facts.read(out)
    except (OSError, ValueError) as error:
        message = f"is no directory of a run: {error}"
        raise DocumentError([Problem(side, str(out), message)]) from None
    return scenario, list(recorder.read_samples(out))


def _part(samples: Sequence[Sample], scenario: Scenario, slo: Slo | None) -> Part:
    return Part.of(samples, slo, start=0.0, end=scenario.duration_s)


def _name(scenario: Scenario) -> str:
    return scenario.policy.name if scenario.policy else "no policy"


def _bad(sample: Sample, slo: Slo | None) -> bool:
    judgement = judge(sample, slo)
    return not (judgement.met or judgement.excluded)


def _ttft(one: Pair) -> float | None:
    """B's less A's, where both answered."""
    a, b = one.baseline, one.candidate
    if not (a.outcome.success and b.outcome.success) or a.ttft is None or b.ttft is None:
        return None
    return b.ttft - a.ttft


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

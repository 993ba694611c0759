"""A block: what each arm was offered in it, and how much of that was bad by each criterion."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from measurement.comparison.criterion import Criterion
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.slo import Slo, judge

_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Count:
    """Of ``offered`` requests ``bad`` ones; ``unmeasured`` answers had no value and count as good.

    Requests that the user cancelled before they missed anything are in neither.
    """

    offered: int = 0
    bad: int = 0
    unmeasured: int = 0

    @property
    def measured(self) -> int:
        """Of how many something is known."""
        return self.offered - self.unmeasured

    def merge(self, other: Count) -> Count:
        """Both together."""
        return Count(
            self.offered + other.offered,
            self.bad + other.bad,
            self.unmeasured + other.unmeasured,
        )


@dataclass(frozen=True, slots=True)
class ArmCounts:
    """One arm's side of a block. Everything adds, so parts merge in any order."""

    scheduled: int = 0
    """Every request that the schedule, or the traffic, had for this arm."""
    excluded: int = 0
    """Cancelled before they had missed anything."""
    failed: int = 0
    """Neither answered nor cancelled: errors, rejections and what was shed."""
    counts: Mapping[str, Count] = field(default_factory=dict)
    stimulus: int = 0
    """A sum of hashes of what was scheduled; equal for equal requests in any order."""
    policies: frozenset[str] = frozenset()
    """Hashes of the policy documents that were seen running."""
    engines: frozenset[str] = frozenset()
    """Fingerprints of the engines that answered."""
    heard: bool = True
    """False for a gap: later windows have arrived, and this block's have not."""
    reachable: bool = True
    faults: tuple[str, ...] = ()
    """Why the stimulus was not what was asked for, in sentences."""

    @property
    def judged(self) -> int:
        """Scheduled without the excluded."""
        return self.scheduled - self.excluded

    def count(self, name: str) -> Count:
        """By that criterion."""
        return self.counts.get(name, Count())

    def merge(self, other: ArmCounts) -> ArmCounts:
        """Both parts of one arm's block."""
        names = {**self.counts, **other.counts}
        return ArmCounts(
            scheduled=self.scheduled + other.scheduled,
            excluded=self.excluded + other.excluded,
            failed=self.failed + other.failed,
            counts={name: self.count(name).merge(other.count(name)) for name in names},
            stimulus=(self.stimulus + other.stimulus) % _WORD,
            policies=self.policies | other.policies,
            engines=self.engines | other.engines,
            heard=self.heard and other.heard,
            reachable=self.reachable and other.reachable,
            faults=tuple(sorted({*self.faults, *other.faults})),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "scheduled": self.scheduled,
            "excluded": self.excluded,
            "failed": self.failed,
            "counts": {
                name: {"offered": c.offered, "bad": c.bad, "unmeasured": c.unmeasured}
                for name, c in sorted(self.counts.items())
            },
            "stimulus": f"{self.stimulus:016x}",
            "policies": sorted(self.policies),
            "engines": sorted(self.engines),
            "heard": self.heard,
            "reachable": self.reachable,
            "faults": list(self.faults),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> ArmCounts:
        """What ``to_json`` wrote."""
        return cls(
            **{key: given[key] for key in ("scheduled", "excluded", "failed")},
            **{key: bool(given[key]) for key in ("heard", "reachable")},
            counts={name: Count(**values) for name, values in given["counts"].items()},
            stimulus=int(given["stimulus"], 16),
            policies=frozenset(given["policies"]),
            engines=frozenset(given["engines"]),
            faults=tuple(given["faults"]),
        )


@dataclass(frozen=True, slots=True)
class Block:
    """``order`` is what was drawn: the candidate's lane, or AB or BA."""

    index: int
    order: str
    ended_at: float
    """Seconds from the comparison's start."""
    baseline: ArmCounts
    candidate: ArmCounts

    @property
    def arms(self) -> tuple[ArmCounts, ArmCounts]:
        """Baseline, candidate."""
        return self.baseline, self.candidate

    def difference(self, name: str) -> float | None:
        """D: the candidate's bad rate minus the baseline's; None where an arm says nothing."""
        a, b = (arm.count(name) for arm in self.arms)
        if not (a.measured and b.measured):
            return None
        return b.bad / b.offered - a.bad / a.offered

    def merge(self, other: Block) -> Block:
        """Another part of the same block, of another gateway or worker."""
        if (self.index, self.order) != (other.index, other.order):
            raise ValueError(
                f"block {self.index} ({self.order}) and {other.index} ({other.order}) are not one"
            )
        return Block(
            self.index,
            self.order,
            max(self.ended_at, other.ended_at),
            self.baseline.merge(other.baseline),
            self.candidate.merge(other.candidate),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "index": self.index,
            "order": self.order,
            "ended_at": self.ended_at,
            "baseline": self.baseline.to_json(),
            "candidate": self.candidate.to_json(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Block:
        """What ``to_json`` wrote."""
        return cls(
            index=given["index"],
            order=given["order"],
            ended_at=float(given["ended_at"]),
            baseline=ArmCounts.from_json(given["baseline"]),
            candidate=ArmCounts.from_json(given["candidate"]),
        )


def count_arm(
    samples: Iterable[Sample],
    slo: Slo | None,
    criteria: Iterable[Criterion],
    *,
    origin: float = 0.0,
    policies: Iterable[str] = (),
    engines: Iterable[str] = (),
) -> ArmCounts:
    """One arm's counts from its resolved samples; ``origin`` is where its schedule begins."""
    criteria, own = tuple(criteria), list(samples)
    tally = {criterion.name: [0, 0, 0] for criterion in criteria}
    excluded = failed = dropped = stimulus = 0
    for sample in own:
        judgement = judge(sample, slo)
        stimulus += _hash(sample, origin)
        dropped += sample.outcome is Outcome.DROPPED
        if judgement.excluded:
            excluded += 1
            continue
        failed += not (sample.outcome.success or sample.outcome is Outcome.CANCELLED)
        for criterion in criteria:
            bad = criterion.bad(sample, judgement)
            row = tally[criterion.name]
            row[0] += 1
            row[1] += bad is True
            row[2] += bad is None
    return ArmCounts(
        scheduled=len(own),
        excluded=excluded,
        failed=failed,
        counts={name: Count(*row) for name, row in tally.items()},
        stimulus=stimulus % _WORD,
        policies=frozenset(policies),
        engines=frozenset(engines),
        faults=(DROPPED,) if dropped else (),
    )


DROPPED = (
    "The client dropped requests that it was more than 1 s late with, or had no connection for. "
    "Lower the rate."
)


def _hash(sample: Sample, origin: float) -> int:
    """Of what was asked and when, to the microsecond; never of what became of it."""
    text = f"{sample.index}:{round((sample.intended_at - origin) * 1e6)}:{sample.tenant}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

"""What of a system can be played over HTTP, and why the rest can't."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest.reproduce.rendering import number
from loadtest.reproduce.series import Series, below
from loadtest.reproduce.table import Finding
from loadtest.scenario import Scenario
from schedulers.document import Policy
from schedulers.enforcement import Host, explain

AROUND_S = 5.0
"""An engine process begins and ends around each load test, and its last answers end."""
ARMS = ("reference", "corrected", "best fixed")
Numbers = Mapping[str, Mapping[str, Series]]
"""By arm, then by measure."""


@dataclass(frozen=True, slots=True)
class Claim:
    """``low`` and ``high``: arm and measure; the sentence has ``{low}`` and ``{high}`` in it."""

    low: tuple[str, str]
    high: tuple[str, str]
    sentence: str

    def found(self, seen: Numbers) -> Finding:
        """With the run's numbers, and whether they support it."""
        low, high = (seen[arm][measure] for arm, measure in (self.low, self.high))
        said = self.sentence.format(low=number(low.mean), high=number(high.mean))
        return Finding(said, below(low, high))


@dataclass(frozen=True, slots=True)
class Experiment:
    """``arms``: the policy's decision points by arm: reference, corrected, best fixed.

    ``load``: workload, arrivals and what else a scenario holds. ``measures``: key, words, unit.
    """

    arms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)
    measures: tuple[tuple[str, str, str], ...] = ()
    claims: tuple[Claim, ...] = ()
    summary: str = ""
    profile: str = "llama3.1-8b-h100-tp1"
    engine: tuple[str, ...] = ()
    """Options of ``python -m simulator``."""
    why_not: str = ""
    """Why no load test can play it, whatever a host enforces."""

    def policy(self, arm: str) -> Policy:
        """The arm as a policy."""
        name = arm.replace(" ", "-")
        head = {"apiVersion": "headway/v1", "kind": "Policy", "metadata": {"name": name}}
        return Policy.parse({**head, "spec": self.arms[arm]})

    @property
    def laws(self) -> str:
        """Which arm is held to which laws."""
        named = {
            arm: ", ".join(f"`{part['law']}`" for part in self.arms[arm].values())
            for arm in ARMS
            if arm in self.arms
        }
        return "; ".join(f"{arm}: {laws}" for arm, laws in named.items())

    def scenario(self, arm: str, base_url: str, seed: int, *, reduced: bool) -> Scenario:
        """One arm's load test."""
        endpoint = {"base_url": base_url, "model": "simulated", "kind": "simulated"}
        document = {**self.load, "endpoint": endpoint, "seed": seed, "drain_s": 5.0}
        if reduced:
            document |= {"duration_s": 1.0, "drain_s": 1.0}
        parsed = Scenario.parse({**document, "policy": self.policy(arm).to_document()})
        assert parsed.policy is not None  # noqa: S101 - it was just given
        return parsed

    def seconds(self, seeds: int, *, reduced: bool) -> float:
        """How long so many seeds take, about: each arm's load test, and a process before it."""
        test = 1.0 if reduced else float(self.load["duration_s"])
        return seeds * len(self.arms) * (test + AROUND_S)

    def check(self, system: str) -> None:
        """DocumentError with each reason why a load test can't play this one."""
        reasons = [self.why_not] if self.why_not else self._not_enforced()
        if reasons:
            raise DocumentError(
                Problem("served", system, f"can't be played over HTTP: {why}") for why in reasons
            )

    def _not_enforced(self) -> list[str]:
        found: dict[str, str] = {}
        for arm in self.arms:
            for point in explain(self.policy(arm), Host.LOAD_TEST):
                if not point.acts:
                    found[str(point.point)] = (
                        f"a load test doesn't enforce {point.point}. {point.why}"
                    )
        return list(found.values())

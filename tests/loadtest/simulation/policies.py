"""A small scenario against the default profile, under a policy, and what came of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from loadtest.conclusion import Conclusion
from loadtest.recorder import read_decisions, read_samples, read_windows
from loadtest.scenario import Scenario
from loadtest.simulate import Options, simulate
from measurement.sample import Sample
from measurement.window import Window
from simulator import profile as profiles

PROFILE = profiles.load(profiles.DEFAULT)
FIXED = {"kind": "fixed", "prompt_tokens": 500, "output_tokens": 40}


class Played(NamedTuple):
    conclusion: Conclusion
    samples: list[Sample]
    decisions: list[dict[str, Any]]
    windows: list[Window]

    def lines(self, point: str) -> list[dict[str, Any]]:
        """Lines of the controller trace of one decision point."""
        return [each for each in self.decisions if each["point"] == point]


def policy(**laws: Any) -> dict[str, Any]:
    return {
        "apiVersion": "headway/v1", "kind": "Policy", "metadata": {"name": "p", "owner": "o"},
        "spec": laws,
    }  # fmt: skip


def slo(ttft_ms: float) -> dict[str, Any]:
    return {
        "apiVersion": "headway/v1", "kind": "SLO", "metadata": {"name": "s", "owner": "o"},
        "spec": {"target": 0.9, "objectives": [{"metric": "ttft_ms", "max": ttft_ms}]},
    }  # fmt: skip


def play(tmp_path: Any, laws: dict[str, Any] | None, *, engine: Any = None, **asked: Any) -> Played:
    given: dict[str, Any] = {
        "endpoint": {"base_url": "http://model.invalid", "model": "m", "kind": "simulated"},
        "workload": FIXED,
        "arrivals": {"process": "poisson", "rate": 5},
        "duration_s": 20,
        "prompt_salt": "s",
        "policy": policy(**laws) if laws else None,
    }
    scenario = Scenario.parse(given | asked)
    out = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
    out.mkdir()
    conclusion = simulate(scenario, PROFILE, options=Options(out=out, overrides=engine))
    samples = sorted(read_samples(out), key=lambda sample: sample.index)
    return Played(conclusion, samples, list(read_decisions(out)), read_windows(out))

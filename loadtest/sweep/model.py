"""One rung on the engine model: the scenario as ``headway simulate`` plays it, in virtual time."""

from __future__ import annotations

from dataclasses import replace

from loadtest.conclusion import Conclusion
from loadtest.scenario import Scenario
from loadtest.simulate import simulate
from simulator.profile import Profile


def run(scenario: Scenario, profile: Profile, name: str = "") -> Conclusion:
    """What it comes to on an engine of that profile; the same numbers each time.

    The policy's laws act where a simulation enforces them.
    """
    salt = scenario.prompt_salt or "model"
    return simulate(replace(scenario, prompt_salt=salt), profile, name=name)

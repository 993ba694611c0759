"""What is said of two runs where one of them, or both, were the engine model's."""

from __future__ import annotations

from typing import Any

from loadtest.same_stimulus import Finished, check

SCENARIO: dict[str, Any] = {
    "workload": {"kind": "fixed"},
    "arrivals": {"process": "poisson", "rate": 2},
    "duration_s": 60,
    "endpoint": {"base_url": "http://127.0.0.1:1", "model": "m"},
}


def run(name: str, profile: str = "") -> Finished:
    model = {"label": f"A model: {profile}", "profile": profile} if profile else None
    endpoint = {"base_url": "http://model.invalid", "model": "m"} if profile else {}
    scenario = SCENARIO | ({"endpoint": endpoint} if profile else {})
    return Finished(name, scenario, {"status": "finished", "verdict": "pass", "model": model})


def test_a_model_beside_a_measured_run_says_that_its_error_is_in_the_difference() -> None:
    said = check(run("A"), run("B", "h100"))
    assert said[0] == "B: A model: h100"
    assert said[1].startswith("B was not measured")
    assert not any("endpoints differ" in one for one in said)


def test_two_of_one_profile_say_what_a_model_makes_of_two_policies() -> None:
    said = check(run("A", "h100"), run("B", "h100"))
    assert said[-1].startswith("Both are the engine model's")


def test_two_profiles_are_two_engines() -> None:
    assert check(run("A", "h100"), run("B", "a100"))[-1].startswith("The profiles differ")

"""What each canary of a plan can find, told before anybody approves it."""

from __future__ import annotations

from typing import Any

import numpy as np

from controlplane.rollouts.plan import RolloutPlan
from controlplane.rollouts.stages.canary import plan_of
from measurement.comparison.power import power

RUNS = 400
"""Simulated comparisons a criterion: chances to about 2 points."""


def power_of(plan: RolloutPlan, hashes: tuple[str, str]) -> list[dict[str, Any]]:
    """By canary and criterion: the chance that harm is found, and that equal arms pass."""
    found = []
    for index, stage in enumerate(plan.stages):
        if stage.kind != "canary":
            continue
        compared = plan_of(plan, index, hashes)
        rng = np.random.default_rng(index)
        rows = [power(compared, one, rng, runs=RUNS).to_json() for one in compared.criteria]
        found.append({"stage": plan.name_of(index), "criteria": rows})
    return found

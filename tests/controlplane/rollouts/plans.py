"""A whole plan, and the same with other stages or fields."""

from __future__ import annotations

import json
from typing import Any

ARRIVALS = {"process": "poisson", "rate": 20}
CRITERIA = [{"kind": "attainment", "pass_margin": 0.15}]
STAGES: list[dict[str, Any]] = [
    {"stage": "model", "arrivals": ARRIVALS},
    {"stage": "load_test", "arrivals": ARRIVALS, "block_s": 5},
    {"stage": "shadow", "bake_s": 30, "least_steps": 50},
    {"stage": "canary", "blocks": 40, "floor_s": 1, "criteria": CRITERIA, "deadline_s": 600},
    {"stage": "full", "bake_s": 20},
]
PLAN: dict[str, Any] = {
    "apiVersion": "headway/v1",
    "kind": "RolloutPlan",
    "metadata": {"name": "steady-wider", "owner": "platform"},
    "spec": {
        "gateway": "edge",
        "candidate": "steady@2",
        "workload": "short",
        "seed": 7,
        "stages": STAGES,
    },
}


def plan(*kinds: str, **spec: Any) -> dict[str, Any]:
    """The plan with only those stages, and other fields; None takes one out."""
    made = json.loads(json.dumps(PLAN))  # no part is shared
    if kinds:
        made["spec"]["stages"] = [one for one in made["spec"]["stages"] if one["stage"] in kinds]
    made["spec"] |= spec
    made["spec"] = {name: value for name, value in made["spec"].items() if value is not None}
    return made

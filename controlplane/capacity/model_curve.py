"""What the engine model comes to under the same workload: a few short replays, kept for later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from loadtest.reports.summary_json import document
from loadtest.scenario import Scenario
from loadtest.sweep import model
from measurement.capacity.observed import Observed
from simulator import profile as profiles

REQUESTS = 240
"""A replay; enough to see where the curve bends, and done in a fraction of a second."""
LOADS = 7


def curve(profile: str, scenario: Mapping[str, Any], highest: float) -> list[Observed]:
    """Points from a seventh of the highest load up to it, in requests/s."""
    workload = json.dumps(scenario.get("workload"), sort_keys=True)
    return list(_replayed(profile, workload, float(f"{highest:.2g}")))


@lru_cache(maxsize=64)
def _replayed(profile: str, workload: str, highest: float) -> tuple[Observed, ...]:
    engine = profiles.load(profile)
    found = []
    for step in range(1, LOADS + 1):
        rate = highest * step / LOADS
        asked = Scenario.parse(
            {
                "endpoint": {
                    "base_url": "http://engine-model.invalid",
                    "model": profile,
                    "kind": "simulated",
                },
                "workload": json.loads(workload),
                "arrivals": {"process": "poisson", "rate": rate},
                "duration_s": REQUESTS / rate,
                "warm_up_s": REQUESTS / rate / 4,
            }
        )
        observed = Observed.of_summary(document(model.run(asked, engine)))
        if observed is not None:
            found.append(observed)
    return tuple(found)

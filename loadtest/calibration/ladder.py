"""Logs to fit to, measured: a closed loop at one rung after the other, and one rung to test on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engines.egress import EgressRules
from loadtest.calibration.fitting import Log
from loadtest.execution import Observer, Order, execute
from loadtest.recorder import SAMPLES
from loadtest.scenario import Scenario
from loadtest.traces.base import read_trace

RUNGS = (1, 4, 16, 64)
TEST_RUNG = 32
WORKLOAD = {
    "kind": "synthetic",
    "prompt_tokens_mean": 600,
    "prompt_tokens_sigma": 1.0,
    "prompt_tokens_min": 16,
    "prompt_tokens_max": 6_000,
    "output_tokens_mean": 100,
    "output_tokens_sigma": 0.7,
    "output_tokens_min": 8,
    "output_tokens_max": 500,
}
"""Short and long prompts side by side, each unlike all others: what tells the terms apart."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Users at once, rung by rung; ``test`` is measured last and fitted to by nobody."""

    rungs: tuple[int, ...] = RUNGS
    test: int = TEST_RUNG
    seconds: float = 30.0
    workload: Mapping[str, Any] = field(default_factory=lambda: dict(WORKLOAD))

    def scenario(self, endpoint: Mapping[str, Any], users: int) -> Scenario:
        """What one rung runs."""
        return Scenario.parse(
            {
                "endpoint": dict(endpoint),
                "workload": dict(self.workload),
                "arrivals": {"process": "closed", "concurrency": users},
                "duration_s": self.seconds,
                "drain_s": 120.0,
                "seed": users,
            }
        )


@dataclass(frozen=True, slots=True)
class Aim:
    """Whom to measure, and how one may reach it. The key never reaches a file."""

    endpoint: Mapping[str, Any]
    """As a scenario names it."""
    rules: EgressRules
    api_key: str = field(default="", repr=False)


async def climb(ladder: Ladder, aim: Aim, out: Path, observer: Observer) -> tuple[list[Log], Log]:
    """Run every rung against the endpoint; the logs to fit to, and the one to test on.

    Each rung's files stay in a directory of its own below ``out``. DocumentError where one of them
    came to too few answers.
    """

    async def rung(users: int) -> Log:
        folder = out / f"users-{users}"
        folder.mkdir(parents=True, exist_ok=True)
        order = Order(ladder.scenario(aim.endpoint, users), folder, aim.rules, aim.api_key)
        await execute(order, observer, asyncio.Event())
        return Log.whole(f"{users} at once", read_trace(folder / SAMPLES))

    logs = [await rung(users) for users in ladder.rungs]
    return logs, await rung(ladder.test)

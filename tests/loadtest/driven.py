"""The scenario of ``simulation.policies.play`` through the load test's driver, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

from loadtest import facts as run_facts
from loadtest.ab.model_client import ModelClient
from loadtest.behaviour import Behaviour
from loadtest.driver import Driver, Means
from loadtest.enforcing import Enforcing, Surroundings
from loadtest.roster import Known
from loadtest.runclock import RunClock
from loadtest.scenario import Scenario
from loadtest.schedule import WHOLE
from loadtest.simulation.readings import Readings
from measurement.sample import Sample
from measurement.window import WindowFold
from schedulers.decision import Decision
from simulator import virtual_time
from tests.loadtest.fakes import TIMEOUTS
from tests.loadtest.simulation.policies import FIXED, PROFILE, policy


def driven(
    laws: dict[str, Any], *, engine: Any = None, **asked: Any
) -> tuple[list[Sample], list[Decision]]:
    """Samples in order of index, and the whole trace."""
    given = {
        "endpoint": {"base_url": "http://model.invalid", "model": "m", "kind": "simulated"},
        "workload": FIXED, "duration_s": 20, "prompt_salt": "s",
        "policy": policy(**laws) if laws else None,
    }  # fmt: skip
    scenario = Scenario.parse(given | asked)
    config = PROFILE.config(**(engine or {}))

    async def main() -> tuple[list[Sample], list[Decision]]:
        clock = RunClock(asyncio.get_running_loop().time)
        client = ModelClient(config, seed=scenario.seed)
        known = Known.of(scenario.tenants, scenario.slo, config)
        readings = Readings(client._host.engine, known.prefill_rate)
        samples, decisions = list[Sample](), list[Decision]()
        held = None
        if scenario.policy is not None:
            around = Surroundings(
                clock, known, decisions.append, lambda: readings.at(clock()), seed=scenario.seed
            )
            held = Enforcing(scenario.policy, around)
        schedule = run_facts.make_schedule(scenario, salt="s", part=WHOLE)
        means = Means(
            client,
            held.door if held else None,
            WindowFold(slo=scenario.slo),
            samples.append,
            clock,
            TIMEOUTS,
            Behaviour(schedule, scenario.retries, scenario.cancellations),
            held.retrier if held else None,
        )
        await Driver(schedule, means, drain=scenario.drain_s).run()
        return samples, decisions

    samples, decisions = virtual_time.run(main())
    return sorted(samples, key=lambda each: each.index), decisions

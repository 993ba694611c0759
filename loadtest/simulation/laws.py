"""A policy's laws, wired for one simulation: as a door before the engine, and hooks inside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from loadtest.scenario import Scenario
from loadtest.simulation.deciding import Deciding
from loadtest.simulation.inside import Batching, Preemption
from loadtest.simulation.limiter import Grant, VirtualLimiter
from loadtest.simulation.roster import Known, Roster
from schedulers.decision import Decision, DecisionPoint
from schedulers.enforcement import Host, explain
from simulator.core.config import EngineConfig
from simulator.core.hooks import Hooks


class Laws:
    """None of a policy's laws is asked where there is no policy, and nothing is kept for one."""

    def __init__(
        self,
        scenario: Scenario,
        config: EngineConfig,
        keep: Callable[[Decision], None],
        cost_clock: Callable[[], float],
    ) -> None:
        self._policy = scenario.policy
        self._laws: dict[DecisionPoint, Any] = dict(self._policy.laws) if self._policy else {}
        self._keep = keep
        self._cost_clock = cost_clock
        self._said = Deciding(cost_clock, keep)
        self._known = Known.of(scenario.tenants, scenario.slo, config)
        asks = self._laws.keys() - {DecisionPoint.CONCURRENCY, DecisionPoint.RETRY}
        self.roster = Roster(self._known) if asks else None
        self.limiter: VirtualLimiter | None = None

    def hooks(self, given: Hooks) -> Hooks:
        """The hooks that were given, with those of the policy's laws in their place."""
        fields: dict[str, Any] = {}
        if self.roster is not None and DecisionPoint.BATCHING in self._laws:
            law = Batching(self._laws[DecisionPoint.BATCHING], self.roster, self._said)
            fields |= {"allow": law.allow, "taken": law.taken}
            fields |= {"padded": law.padded} if law.own_graphs else {}
        if self.roster is not None and DecisionPoint.PREEMPTION in self._laws:
            way = Preemption(self._laws[DecisionPoint.PREEMPTION], self.roster, self._said)
            fields |= {"victim": way.victim, "swaps": way.swaps}
        return dataclasses.replace(given, **fields)

    def door(self, grant: Grant) -> VirtualLimiter | None:
        """What stands before the engine; None: nothing is held back."""
        law = self._laws.get(DecisionPoint.CONCURRENCY)
        if law is not None:
            self.limiter = VirtualLimiter(law, grant, self._keep, self._cost_clock)
        return self.limiter

    def told(self) -> dict[str, Any]:
        """The summary's ``policy``."""
        if self._policy is None:
            return {}
        said, limiter = self._said, self.limiter
        points = explain(self._policy, Host.ENGINE_MODEL)
        return {
            "enforcement": [
                {"point": str(each.point), "mode": str(each.mode), "why": each.why}
                for each in points
            ],
            "decisions": said.decisions + (limiter.decisions if limiter else 0),
            "trace_left_out": said.left_out,
            "deciding_seconds": said.seconds + (limiter.deciding_seconds if limiter else 0.0),
            "steps": said.steps + (limiter.steps if limiter else 0),
        }

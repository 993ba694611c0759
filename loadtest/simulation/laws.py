"""A policy's laws, wired for one simulation: as a door before the engine, and hooks inside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from documents.parse import build
from loadtest.roster import Known, Roster
from loadtest.scenario import Scenario
from loadtest.simulation.agent_load import AgentGauge
from loadtest.simulation.agents import AgentDoor, counts_agents
from loadtest.simulation.feed import Feed
from loadtest.simulation.front import Front, Ways
from loadtest.simulation.host import Door
from loadtest.simulation.inside import Batching, Preemption
from loadtest.simulation.limiter import VirtualLimiter
from loadtest.simulation.queueing import Queueing
from loadtest.simulation.readings import Readings
from loadtest.simulation.sessions import SessionFeed
from loadtest.workloads.base import Sessions, Workload
from schedulers.admission.base import laws as admissions
from schedulers.decision import Decision, DecisionPoint
from schedulers.enforcement import Host, explain
from schedulers.ordering.base import laws as orderings
from schedulers.runtime.caps import Caps
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.retrying import Retrier
from schedulers.runtime.waiting_room import WaitingRoom
from simulator.core.config import EngineConfig
from simulator.core.engine import Engine
from simulator.core.hooks import Hooks

ADMISSION, ORDERING = DecisionPoint.ADMISSION, DecisionPoint.ORDERING
_FRONT = {ADMISSION, ORDERING}
BY_PROGRESS = "progress_per_kv"
"""The ordering law that ranks agents."""


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
        self._seed = scenario.seed
        self._said = Deciding(cost_clock, keep)
        self._known = Known.of(scenario.tenants, scenario.slo, config)
        asks = self._laws.keys() - {DecisionPoint.CONCURRENCY, DecisionPoint.RETRY}
        self.roster = Roster(self._known) if asks else None
        self.limiter: VirtualLimiter | AgentDoor | None = None
        self._room = self._make_room() if self._laws.keys() & _FRONT else None

    def hooks(self, given: Hooks) -> Hooks:
        """The hooks that were given, with those of the policy's laws in their place."""
        fields: dict[str, Any] = {}
        if self.roster is not None and DecisionPoint.BATCHING in self._laws:
            law = Batching(self._laws[DecisionPoint.BATCHING], self.roster.rate, self._said)
            fields |= {"allow": law.allow, "taken": law.taken}
            fields |= {"padded": law.padded} if law.own_graphs else {}
        if self.roster is not None and DecisionPoint.PREEMPTION in self._laws:
            way = Preemption(self._laws[DecisionPoint.PREEMPTION], self.roster, self._said)
            fields |= {"victim": way.victim, "swaps": way.swaps}
        if self._room is not None and self.roster is not None and ORDERING in self._laws:
            fields["line"] = partial(Queueing, self._room, self.roster, self._said)
        return dataclasses.replace(given, **fields)

    def door(self, engine: Engine, ways: Ways, feed: Feed) -> Door | None:
        """What stands before the engine; None: nothing is held back."""
        law = self._laws.get(DecisionPoint.CONCURRENCY)
        if law is not None and counts_agents(law) and isinstance(feed, SessionFeed):
            gauge = AgentGauge(engine)
            door = AgentDoor(law, feed, gauge, ways.grant, self._keep, self._cost_clock)
            door.inner = self._front(engine, ways, None)
            self.limiter = door
            return door
        limiter = None
        if law is not None:
            limiter = VirtualLimiter(law, ways.grant, self._keep, self._cost_clock)
        self.limiter = limiter
        return self._front(engine, ways, limiter) or limiter

    def _front(self, engine: Engine, ways: Ways, limiter: VirtualLimiter | None) -> Front | None:
        """The waiting room, where the policy says who is taken or who is next."""
        if self._room is None or self.roster is None:
            return None
        readings = Readings(engine, self.roster.prefill_rate)
        return Front(self._room, limiter, ways, self.roster, readings.at, self._said)

    def notes(self, workload: Workload) -> tuple[str, ...]:
        """What a reader must know of laws that have nothing here to decide on."""
        if isinstance(workload, Sessions):
            return ()
        return tuple(_without_agents(self._laws))

    def retrier(self, clock: Callable[[], float]) -> Retrier | None:
        """Who says whether a request is sent again; None: its client does."""
        law = self._laws.get(DecisionPoint.RETRY)
        if law is None:
            return None
        draw = np.random.default_rng(self._seed).random
        return Retrier(law, sleep=_sleepless, clock=clock, draw=draw, on_decision=self._said.tell)

    def _make_room(self) -> WaitingRoom:
        """A point that the policy leaves open is as it is without a policy."""
        admission = self._laws.get(ADMISSION) or build(admissions.get("always"), {})
        ordering = self._laws.get(ORDERING) or build(orderings.get("fcfs"), {})
        return WaitingRoom(admission, ordering, Caps(), np.random.default_rng(self._seed).random)

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


def _without_agents(laws: Mapping[DecisionPoint, Any]) -> Iterator[str]:
    law = laws.get(DecisionPoint.CONCURRENCY)
    if law is not None and counts_agents(law):
        yield (
            f"The policy's {law.name} admits agents, and this workload has none: it learned "
            f"nothing and stood at its first limit, {law.limit(law.start())} requests. Play it "
            "with a workload of agents."
        )
    law = laws.get(ORDERING)
    if law is not None and law.name == BY_PROGRESS:
        yield (
            f"The policy's {law.name} ranks agents by their progress; single requests have none, "
            "so they went in order of arrival."
        )


async def _sleepless(seconds: float) -> None:
    """A simulation waits by its own clock."""
    raise AssertionError(f"a simulation slept for {seconds} s")

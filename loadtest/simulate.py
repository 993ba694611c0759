"""A scenario against a profile of the engine model: the same conclusion that a load test comes to.

The schedule, the law in its limiter, the windows, the samples and the judging are those of a load
test; the engine is a model, which the conclusion says, with the profile's stated error.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documents.problem import DocumentError, Problem
from loadtest import facts as run_facts
from loadtest import publishing
from loadtest.behaviour import Behaviour
from loadtest.column_files import column_files
from loadtest.conclusion import CANCELLED, FINISHED, Conclusion, Seen, conclude
from loadtest.execution import Observer
from loadtest.facts import Facts
from loadtest.outline import Outline
from loadtest.recorder import Recorder
from loadtest.scenario import Scenario
from loadtest.schedule import WHOLE
from loadtest.simulation.clients import Clients
from loadtest.simulation.feed import Feed, OpenFeed, feed_of
from loadtest.simulation.front import Ways
from loadtest.simulation.host import Means, Simulation
from loadtest.simulation.laws import Laws
from loadtest.simulation.progress import Progress
from loadtest.simulation.stand_in import told
from loadtest.traces.contents import content_of
from loadtest.traces.replayed import Trace
from loadtest.version import version
from measurement.column_builder import ColumnsBuilder
from measurement.sample import Sample
from measurement.window import WindowFold
from schedulers.decision import Decision, DecisionPoint
from simulator.core.engine import Engine
from simulator.core.hooks import NONE, Hooks
from simulator.profile import Profile

MOST_KEPT = 50_000
"""Requests of a run that shares its machine: each leaves about 2 kB behind until the end, most of
it the engine's."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a simulation takes besides its scenario and profile."""

    trace: Trace | None = None
    """What the scenario's arrivals and workload stand for, where it is a trace."""
    out: Path | None = None
    """An existing directory for the files of a run; None: none are written."""
    at_unix: float = 0.0
    """When it is said to have started."""
    overrides: Mapping[str, Any] | None = None
    """Fields of EngineConfig, instead of the profile's."""
    hooks: Hooks = NONE
    cost_clock: Callable[[], float] = time.perf_counter
    """What deciding costs is measured on it."""
    observer: Observer | None = None
    """Told how it goes, as of a load test; in the thread that simulates."""
    stop: Callable[[], bool] = lambda: False
    """Asked now and then; True ends it as a cancelled run."""
    most_requests: int | None = None
    """A closed loop asks as fast as its engine answers: more than these are refused."""


def simulate(
    scenario: Scenario, profile: Profile, *, name: str = "", options: Options | None = None
) -> Conclusion:
    """Play the scenario through the profile's engine in virtual time.

    ``name`` is what the profile is called in the label. The scenario's endpoint is not used. The
    same scenario, profile and options give the same samples. DocumentError where an override
    doesn't fit, or where the scenario asks for what the model does not do.
    """
    if found := problems(scenario):
        raise DocumentError(found)
    options = options or Options()
    with column_files(options.out) as shelf:
        return _Run(scenario, profile, name, options, ColumnsBuilder(shelf)).play()


def problems(scenario: Scenario) -> list[Problem]:
    """What is asked of a client beside the load, and would be passed over in silence here."""
    shadow = scenario.shadow and scenario.shadow.metadata.name
    message = "is not done in the engine model; leave it out, or run a load test"
    return [Problem("shadow", shadow, message)] if shadow else []


class _Run:
    """The parts of one simulation, wired together."""

    def __init__(
        self,
        scenario: Scenario,
        profile: Profile,
        name: str,
        options: Options,
        columns: ColumnsBuilder,
    ) -> None:
        self._scenario = scenario
        self._columns = columns
        self._profile = profile
        self._name = name
        self._options = options
        self._stopped = False
        config = profile.config(**(options.overrides or {}))
        self._laws = Laws(scenario, config, self._decided, options.cost_clock)
        hooks = self._laws.hooks(options.hooks)
        self._engine = Engine(config, seed=scenario.seed, hooks=hooks, keep_times=True)
        self._schedule = run_facts.make_schedule(
            scenario, salt=scenario.prompt_salt, part=WHOLE, sessions=True
        )
        self._fold = WindowFold(slo=scenario.slo)
        self._recorder = Recorder(options.out) if options.out is not None else None
        self._progress = Progress(scenario, self._fold, self._recorder, options.observer)
        means = Means(
            self._engine,
            self._feed(),
            self._fold,
            self._sample,
            scenario.timeouts,
            self._laws.roster,
        )
        deadline = scenario.duration_s + scenario.drain_s
        self._simulation = Simulation(means, deadline=deadline)
        self._simulation.clients = self._clients(deadline)
        ways = Ways(self._simulation.grant, self._simulation.shed)
        self._simulation.limiter = self._laws.door(self._engine, ways, means.feed)

    def play(self) -> Conclusion:
        scenario, simulation, options = self._scenario, self._simulation, self._options
        scheduled = None if self._schedule.closed_loop else len(self._schedule.instants)
        model = told(self._profile, self._name)
        salt = scenario.prompt_salt
        facts = Facts(options.at_unix, version(), scheduled, salt, model=model)
        if options.out is not None:
            run_facts.write(options.out, scenario, facts)
        if options.observer is not None:
            options.observer.started(scenario, facts)
        if self._laws.limiter is not None:
            self._fold.limit(0.0, self._laws.limiter.limit)
        try:
            simulation.run(scenario.duration_s, self._going)
            windows = self._progress.finish(simulation.now)
        finally:
            if self._recorder is not None:
                self._recorder.close()
        status = CANCELLED if self._stopped else FINISHED
        seen = self._seen(windows, model)
        conclusion = conclude(self._columns.freeze(), scenario, facts, seen, status)
        notes = (*conclusion.notes, *self._laws.notes(scenario.workload))
        conclusion = dataclasses.replace(conclusion, notes=notes)
        if options.out is not None:
            publishing.write_files(conclusion, options.out)
        if options.observer is not None:
            options.observer.concluded(conclusion)
        return conclusion

    def _clients(self, deadline: float) -> Clients | None:
        """None where a request that fails stays failed, and nobody goes away."""
        scenario = self._scenario
        retrier = self._laws.retrier(lambda: self._simulation.now)
        if retrier is None and scenario.retries is None and scenario.cancellations is None:
            return None
        behaviour = Behaviour(self._schedule, scenario.retries, scenario.cancellations)
        return Clients(behaviour, retrier, deadline)

    def _going(self, now: float) -> bool:
        """Whether to go on; whoever watches is told how far it has come."""
        self._progress.passed(now)
        most = self._options.most_requests
        if most is not None and self._simulation.offered > most:
            message = f"came to more than {most:,} requests; make it shorter, or the load smaller"
            raise DocumentError([Problem("duration_s", self._scenario.duration_s, message)])
        self._stopped = self._options.stop()
        return not self._stopped

    def _feed(self) -> Feed:
        trace = self._options.trace
        if trace is None:
            return feed_of(self._schedule)
        duration = self._scenario.duration_s
        jobs = (job for job in trace.jobs() if job.intended_at < duration)
        return OpenFeed(jobs, lambda index: content_of(trace.requests[index], index))

    def _sample(self, sample: Sample) -> None:
        self._columns.add(sample)
        if self._recorder is not None:
            self._recorder.sample(sample)

    def _decided(self, decision: Decision) -> None:
        self._progress.decision(decision)
        if self._recorder is not None:
            self._recorder.decision(decision)
        if decision.point is DecisionPoint.CONCURRENCY:
            self._fold.limit(max(0.0, decision.at), int(decision.after))

    def _seen(self, windows: list[Outline], model: dict[str, Any]) -> Seen:
        simulation, state = self._simulation, self._engine.state
        counted = {
            "style": self._engine.config.style,
            "preemptions": state.preemptions,
            "prompt_tokens_looked_up": state.queried_tokens,
            "prompt_tokens_found": state.hit_tokens,
            "evicted_tokens": state.pool.tree.evicted * state.pool.block_size,
        }
        return Seen(
            windows=windows,
            stopped_at=simulation.now,
            launched=simulation.offered,
            policy=self._laws.told(),
            signals={"supported": True, "missed": 0, "reason": ""},
            model=model | counted,
        )

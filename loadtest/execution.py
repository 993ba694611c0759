"""One scenario, run in this process: everything assembled, driven, recorded and concluded.

The worker process and the command line are two shells around this: they differ only in what they
do with the news.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from engines.client import EngineClient
from engines.egress import EgressRules
from engines.readings import reading
from engines.request import Timeouts
from engines.signals.base import EngineSignals
from engines.signals_feed import SignalsFeed
from engines.target import Target
from engines.transport.kernel_clock import Offset
from loadtest import alarm, publishing, sample_store, transports
from loadtest import facts as run_facts
from loadtest.answer_watch import AnswerWatch
from loadtest.behaviour import Behaviour
from loadtest.collecting import seldom_collected
from loadtest.column_files import in_columns
from loadtest.conclusion import (
    CANCELLED,
    FINISHED,
    Carried,
    Conclusion,
    Seen,
    conclude,
    ttft_target,
)
from loadtest.driver import Driver, Means
from loadtest.enforcing import Enforcing, Surroundings
from loadtest.facts import Facts
from loadtest.loopwatch import LoopWatch
from loadtest.news import DOUBTED, News, Newsroom
from loadtest.outline import Outline
from loadtest.pulse import Pulse, cpu_seconds
from loadtest.recorder import Recorder, read_of_windows, read_samples
from loadtest.roster import Known
from loadtest.runclock import RunClock
from loadtest.scenario import Limits, Scenario
from loadtest.schedule import WHOLE, Slice
from loadtest.shadowing import shadowing
from loadtest.throttling import CpuLimit, Throttled
from loadtest.version import version
from measurement.sample import Sample
from measurement.validity import most_lag
from measurement.window import WindowFold
from schedulers.decision import Decision, DecisionPoint
from schedulers.signals import Signals

LEAD = 0.25
"""Seconds between everything being ready and the schedule's start."""


class Observer(Protocol):
    """Who is told how a run goes. ``news`` comes from a thread of its own, the others don't."""

    def started(self, scenario: Scenario, facts: Facts) -> None: ...

    def news(self, news: News) -> None: ...

    def concluded(self, conclusion: Conclusion) -> None: ...


@dataclass(frozen=True, slots=True)
class Start:
    """One instant on both of this machine's clocks: every process here reads the same ones."""

    monotonic: float
    unix: float

    @classmethod
    def after(cls, seconds: float) -> Start:
        """So many seconds from now.

        Both clocks at one instant, to within microseconds however busy the machine: between two
        plain calls a process can be put aside for long.
        """
        offset = Offset.sampled(time.monotonic_ns, time.time_ns)
        monotonic = time.monotonic() + seconds
        return cls(monotonic, monotonic - offset.value / 1e9)

    def line(self) -> bytes:
        """How a worker that waits at the barrier is told it."""
        return f"{self.monotonic!r} {self.unix!r}\n".encode()


@dataclass(frozen=True, slots=True)
class Order:
    """One run as ordered. The key never reaches a document or a log."""

    scenario: Scenario
    out: Path
    rules: EgressRules
    api_key: str = ""
    part: Slice = WHOLE
    start_at_unix: float | None = None
    """A common start for workers on several machines; None starts as soon as all is ready."""
    barrier: Callable[[], Awaitable[Start]] | None = None
    """Waited for when all is ready: a common start for the workers of one machine."""
    samples_format: str = sample_store.JSONL
    """How the samples are kept once the run is over."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process has measured, its samples apart: they are in its directory."""

    facts: Facts
    seen: Seen
    status: str


async def execute(order: Order, observer: Observer, stop: asyncio.Event) -> Conclusion:
    """Run it to its end, or until ``stop`` is set. EgressDenied when the target may not be called.

    The directory must exist. A report is written in either case.
    """
    found = await measure(order, observer, stop)
    with in_columns(read_samples(order.out), order.out) as columns:
        conclusion = conclude(columns, order.scenario, found.facts, found.seen, found.status)
    publishing.write_files(conclusion, order.out)
    sample_store.settle(order.out, order.samples_format)
    observer.concluded(conclusion)
    return conclusion


async def measure(order: Order, observer: Observer, stop: asyncio.Event) -> Measured:
    """The run without its conclusion."""
    scenario = order.scenario
    target = _target(scenario, order.api_key)
    name = transports.chosen(scenario.transport, scenario.endpoint.base_url)
    transport = transports.make(name, order.rules)
    client = EngineClient(target, transport, time.monotonic)
    try:
        await client.prepare()
        with Recorder(order.out, shadow=scenario.shadow is not None) as recorder:
            run = _Run(order, client, recorder, transport.settle)
            feed = SignalsFeed(target, order.rules, clock=time.monotonic, on_signals=run.on_signals)
            run.feed = feed
            transport.between(run.driver.look)
            # One of several workers asks the engine for its signals; the others would only load it.
            asks = order.part.number == 0
            async with _beside(feed.run() if asks else asyncio.sleep(0)):
                await run.drive(observer, stop, feed)
        proxy = order.rules.proxy.url if order.rules.proxy else None
        carried = Carried(name, transport.dialled, transport.receive_lag(), proxy)
        seen = run.seen(feed, carried)
    finally:
        await transport.close()
    status = CANCELLED if run.driver.cancelled else FINISHED
    return Measured(run.facts, seen, status)


class _Run:
    """The parts of one run, wired together."""

    def __init__(
        self,
        order: Order,
        client: EngineClient,
        recorder: Recorder,
        settle: Callable[[], Awaitable[None]],
    ) -> None:
        scenario = order.scenario
        self._order = order
        self._recorder = recorder
        self._clock = RunClock(time.monotonic)
        self._fold = WindowFold(slo=scenario.slo)
        self._watch = LoopWatch(time.monotonic)
        self._pulse = Pulse(self._watch)
        carrier = transports.chosen(scenario.transport, scenario.endpoint.base_url)
        self._answers = AnswerWatch(
            self._clock,
            self._watch.stalls,
            most=most_lag(ttft_target(scenario.slo)),
            stamped=carrier == transports.KERNEL,
        )
        self._salt = scenario.prompt_salt or secrets.token_hex(8)
        self._schedule = run_facts.make_schedule(scenario, salt=self._salt, part=order.part)
        self._shadowing = shadowing(scenario, recorder, self._fold)
        self.feed: SignalsFeed | None = None
        """Set before the start, where the engine is asked what it says of itself."""
        self._enforcing = self._enforce()
        shadow_news = self._shadowing.news if self._shadowing else None
        self._newsroom = Newsroom(scenario, recorder, self._gauges, shadow_news, settle)
        enforcing = self._enforcing
        means = Means(
            client,
            enforcing.door if enforcing else None,
            self._fold,
            self._on_sample,
            self._clock,
            timeouts_of(scenario.timeouts),
            Behaviour(self._schedule, scenario.retries, scenario.cancellations),
            enforcing.retrier if enforcing else None,
            alarm.finest(),
            client.call,
        )
        self.driver = Driver(self._schedule, means, drain=scenario.drain_s)
        self._limit = CpuLimit.of_process()
        self._throttled: Throttled | None = None
        self._cpu = 0.0
        self._wall = 0.0
        self.facts = self._facts(0.0)

    async def drive(self, observer: Observer, stop: asyncio.Event, feed: SignalsFeed) -> None:
        with seldom_collected():
            await self._drive(observer, stop, feed)

    async def _drive(self, observer: Observer, stop: asyncio.Event, feed: SignalsFeed) -> None:
        self._begin(await self._start())
        observer.started(self._order.scenario, self.facts)
        began, cpu, before = time.monotonic(), cpu_seconds(), self._limit.read()
        clock, fold, tell = self._clock, self._fold, observer.news
        self._watch.start()
        with self._newsroom as newsroom:
            async with (
                _beside(newsroom.each_second(clock, fold, feed, tell), self.driver.cancel),
                _beside(_cancel_on(stop, self.driver)),
            ):
                await self.driver.run()
            self._watch.stop()
            self._wall, self._cpu = time.monotonic() - began, cpu_seconds() - cpu
            after = self._limit.read()
            self._throttled = after.since(before) if after and before else None
            await newsroom.last(clock(), fold, feed, tell)

    def _on_sample(self, sample: Sample) -> None:
        self._answers.take(sample)
        self._newsroom.sample(sample)

    def on_signals(self, signals: EngineSignals) -> None:
        """Engine signals go into windows; what came before the start belongs to no window."""
        at = self._clock.since(signals.at)
        if at >= 0:
            self._fold.signals(at, signals.running, signals.waiting, signals.kv_use)

    def seen(self, feed: SignalsFeed, carried: Carried) -> Seen:
        """What the client noticed of itself."""
        return Seen(
            windows=read_of_windows(self._order.out, Outline.of),
            stopped_at=self.driver.closed_at,
            launched=self.driver.offered,
            loop_lag=self._watch.lag.freeze(),
            doubted_gaps=self._answers.gaps,
            doubted_firsts=self._answers.firsts,
            stalls=self._watch.long_stalls(self._clock.origin),
            throttled=self._throttled,
            cpu_share=self._cpu / self._wall if self._wall else None,
            carried=carried,
            policy=self._enforcing.told() if self._enforcing else {},
            shadow=self._shadowing.cell.report if self._shadowing else None,
            signals={"supported": feed.supported, "missed": feed.missed, "reason": feed.reason},
        )

    def _gauges(self) -> dict[str, Any]:
        enforcing = self._enforcing
        limiter = enforcing.limiter if enforcing else None
        return {
            DOUBTED: asdict(self._answers.firsts),
            "in_flight": self.driver.in_flight,
            "waiting": enforcing.waiting if enforcing else 0,
            "limit": limiter.limit if limiter else None,
            "client": self._pulse.beat(),
        }

    async def _start(self) -> Start:
        """When the schedule starts; whoever is waited for is told that all is ready."""
        barrier, at_unix = self._order.barrier, self._order.start_at_unix
        if barrier is not None:
            return await barrier()
        return Start.after(LEAD if at_unix is None else at_unix - time.time())

    def _begin(self, start: Start) -> None:
        """Fix the start, and write down what a report can be rebuilt from."""
        self._clock.origin = start.monotonic
        self.facts = self._facts(start.unix)
        run_facts.write(self._order.out, self._order.scenario, self.facts)
        if self._enforcing is not None and self._enforcing.limiter is not None:
            self._fold.limit(0.0, self._enforcing.limiter.limit)
        if self._shadowing is not None:
            self._shadowing.begin()

    def _facts(self, at_unix: float) -> Facts:
        part = self._order.part
        scheduled = self._schedule.offered
        return Facts(at_unix, version(), scheduled, self._salt, part.number, part.of)

    def _enforce(self) -> Enforcing | None:
        scenario = self._order.scenario
        if scenario.policy is None:
            return None
        around = Surroundings(
            clock=self._clock,
            known=Known(scenario.tenants, scenario.slo),
            keep=self._on_decision,
            signals=self._signals,
            observers=(self._shadowing.cell,) if self._shadowing else (),
            seed=scenario.seed,
        )
        return Enforcing(scenario.policy, around)

    def _signals(self) -> Signals | None:
        """The engine's last reading, for laws that ask."""
        return None if self.feed is None else reading(self.feed, self._clock.since)

    def _on_decision(self, decision: Decision) -> None:
        self._recorder.decision(decision)
        self._newsroom.decision(decision)
        if decision.point is DecisionPoint.CONCURRENCY:
            self._fold.limit(max(0.0, decision.at), int(decision.after))


def timeouts_of(limits: Limits) -> Timeouts:
    """A scenario's time-outs as the client takes them."""
    return Timeouts(limits.connect_s, limits.first_token_s, limits.idle_s, limits.total_s)


def _target(scenario: Scenario, api_key: str) -> Target:
    endpoint = scenario.endpoint
    return Target(endpoint.base_url, endpoint.model, endpoint.adapter, api_key)


@asynccontextmanager
async def _beside(
    work: Coroutine[Any, Any, Any], failed: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Run something beside the load; a fault in it comes out here, its cancelling does not.

    ``failed`` is called as soon as there is a fault: a load of hours whose files can't be written
    any more is not carried on with.
    """

    def look(task: asyncio.Future[Any]) -> None:
        if not task.cancelled() and task.exception() is not None:
            failed()

    task = asyncio.ensure_future(work)
    task.add_done_callback(look)
    try:
        yield
    finally:
        if not task.done():
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _cancel_on(stop: asyncio.Event, driver: Driver) -> None:
    await stop.wait()
    driver.cancel()

"""An engine for virtual time: answers after times that a test chooses, through no socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from documents.parse import build
from engines.answer import Answer
from engines.request import CompletionRequest, Timeouts
from loadtest.arrivals.base import processes
from loadtest.behaviour import Behaviour, Cancellations, Retries
from loadtest.door import Door, LimiterDoor
from loadtest.driver import Driver, Means
from loadtest.enforcing import Enforcing, Surroundings
from loadtest.roster import Known
from loadtest.runclock import RunClock
from loadtest.scenario import Tenant
from loadtest.schedule import Schedule
from loadtest.workloads.base import workloads
from measurement.outcome import Outcome, TokenSource
from measurement.sample import Sample
from measurement.slo import Slo
from measurement.window import Window, WindowFold
from schedulers.concurrency.base import laws
from schedulers.decision import Decision
from schedulers.document import Policy
from schedulers.runtime.limiter import Limiter
from schedulers.signals import Signals
from simulator import virtual_time

TIMEOUTS = Timeouts(connect=5, first_token=60, idle=30, total=600)


@dataclass
class FakeEngine:
    """``serve(nth)`` gives (seconds to the first token, seconds per further token, outcome)."""

    serve: Callable[[int], tuple[float, float, Outcome]] = lambda nth: (0.1, 0.01, Outcome.OK)
    retry_after: float | None = None
    requests: list[CompletionRequest] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    open: int = 0
    most_open: int = 0
    ready: bool = True
    """Whether a connection is there for a call that is made ahead."""

    async def complete(
        self, request: CompletionRequest, timeouts: Timeouts, **heard: Any
    ) -> Answer:
        return await self.call(request, timeouts, **heard).answer()

    def call(self, request: CompletionRequest, timeouts: Timeouts, **heard: Any) -> FakeCall:
        return FakeCall(self, request, **heard)


@dataclass
class FakeCall:
    """One call, made ahead or at once."""

    engine: FakeEngine
    request: CompletionRequest
    on_sent: Callable[[float], None]
    on_tokens: Callable[[Sequence[float], Sequence[int]], None]
    on_answer: Callable[[float], None]
    sent_at: float | None = None

    def begin(self) -> bool:
        if self.engine.ready:
            self._send()
        return self.engine.ready

    def abandon(self) -> None:
        self.engine.open -= 1

    def _send(self) -> None:
        engine = self.engine
        self.served = engine.serve(len(engine.requests))
        engine.requests.append(self.request)
        engine.open += 1
        engine.most_open = max(engine.most_open, engine.open)
        self.sent_at = asyncio.get_running_loop().time()
        engine.sent.append(self.sent_at)
        self.on_sent(self.sent_at)

    async def answer(self) -> Answer:
        if self.sent_at is None:
            self._send()
        now, request = asyncio.get_running_loop().time, self.request
        first, each, outcome = self.served
        try:
            await asyncio.sleep(first)
            if not outcome.success:
                return Answer(
                    outcome=outcome,
                    done_at=now(),
                    sent_at=self.sent_at,
                    retry_after=self.engine.retry_after,
                    error="refused",
                )
            first_at = now()
            self.on_tokens((first_at,), (1,))
            self.on_answer(first_at)
            for _ in range(request.max_tokens - 1):
                await asyncio.sleep(each)
                self.on_tokens((now(),), (1,))
        finally:
            self.engine.open -= 1
        n = request.max_tokens
        return Answer(
            outcome=outcome,
            done_at=now(),
            sent_at=self.sent_at,
            first_token_at=first_at,
            first_answer_at=first_at,
            last_token_at=now(),
            chunks=n,
            gaps=(each,) * (n - 1),
            first_chunk_tokens=1,
            prompt_tokens=len(request.prompt.split()),
            output_tokens=n,
            token_source=TokenSource.USAGE,
            status=200,
        )


@dataclass
class Ran:
    """What one run in virtual time left."""

    samples: list[Sample]
    windows: list[Window]
    driver: Driver
    ended_at: float
    engine: FakeEngine
    limiter: Limiter | None
    decisions: list[Decision] = field(default_factory=list)

    def reasons(self, point: str) -> list[str]:
        """Of the controller trace's lines of one decision point, in order."""
        return [str(one.reason) for one in self.decisions if one.point == point]

    @property
    def outcomes(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for sample in self.samples:
            counts[sample.outcome] = counts.get(sample.outcome, 0) + 1
        return counts


def run(
    engine: FakeEngine,
    *,
    duration: float = 10.0,
    drain: float = 30.0,
    limit: int | None = None,
    cancel_at: float | None = None,
    stall: tuple[float, float] | None = None,
    retries: Retries | None = None,
    cancellations: Cancellations | None = None,
    output_tokens: int = 4,
    policy: dict[str, Any] | None = None,
    signals: Callable[[], Signals | None] = lambda: None,
    slo: Slo | None = None,
    tenants: dict[str, Tenant] | None = None,
    ahead: bool = False,
    meddle: tuple[float, Callable[[Driver], None]] | None = None,
    **arrivals: Any,
) -> Ran:
    """Drive ``engine`` in virtual time. ``stall`` blocks the client's own loop: (at, seconds).

    ``ahead``: calls are made before they are due. ``meddle``: what is done to the driver, and when.
    """

    async def main() -> Ran:
        loop = asyncio.get_running_loop()
        clock = RunClock(loop.time)
        law = build(laws.get("fixed"), {"limit": limit}) if limit else None
        limiter = Limiter(law, clock) if law else None
        fold, samples, decisions = WindowFold(), list[Sample](), list[Decision]()
        process = arrivals or {"process": "constant", "rate": 10.0}
        shares = {"tenants": dict.fromkeys(tenants, 1)} if tenants else {}
        workload = {"prompt_tokens": 8, "output_tokens": output_tokens, **shares}
        schedule = Schedule(
            build(processes.get(process.pop("process")), process),
            build(workloads.get("fixed"), workload),
            duration=duration,
            seed=1,
        )
        behaviour = Behaviour(schedule, retries, cancellations)
        door: Door | None = LimiterDoor(limiter) if limiter else None
        retrier = None
        if policy is not None:
            around = Surroundings(clock, Known(tenants or {}, slo), decisions.append, signals)
            held = Enforcing(Policy.parse(policy), around)
            door, retrier, limiter = held.door, held.retrier, held.limiter
        means = Means(
            engine, door, fold, samples.append, clock, TIMEOUTS, behaviour, retrier,
            ahead=engine.call if ahead else None,
        )  # fmt: skip
        driver = Driver(schedule, means, drain=drain)
        if cancel_at is not None:
            loop.call_at(cancel_at, driver.cancel)
        if meddle is not None:
            loop.call_at(meddle[0], meddle[1], driver)
        if stall is not None:
            loop.call_at(stall[0], lambda: jump(loop, stall[1]))
        await driver.run()
        ended = clock()
        return Ran(samples, fold.finish(ended), driver, ended, engine, limiter, decisions)

    return virtual_time.run(main())


def jump(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """The clock moves on while nothing runs: a client that was stopped, or hogged by others."""
    loop._jumping.now += seconds  # type: ignore[attr-defined]  # the virtual loop's own clock

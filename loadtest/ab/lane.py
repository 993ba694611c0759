"""One lane: its engine, its driver, and the laws between, which change by the draw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from loadtest.ab.lane_laws import LaneLaws, Read
from loadtest.ab.order import Order
from loadtest.ab.replay import Replay
from loadtest.driver import Client, Driver, Means
from loadtest.execution import timeouts_of
from loadtest.recorder import Recorder
from loadtest.runclock import RunClock
from measurement.comparison.assignment import Slot
from measurement.sample import Sample
from measurement.window import WindowFold
from schedulers.decision import Decision, DecisionPoint

Ran = Callable[[Slot, str], None]
Take = Callable[[str, Sample], None]


@dataclass(frozen=True)
class LaneMeans:
    """What a lane works with, all handed in."""

    client: Client
    clock: RunClock
    recorder: Recorder
    take: Take
    ran: Ran
    read: Read = lambda: None
    """The engine's last reading."""


class Lane:
    """Both arms' laws keep their states while the other one decides, as behind the gateway."""

    def __init__(self, name: str, order: Order, replay: Replay, means: LaneMeans) -> None:
        self.name = name
        self._policies = order.policies
        self._slots = list(replay.slots(name))
        self._clock = means.clock
        self._means = means
        self._fold = WindowFold(slo=order.load.slo)
        first = self._policies[self._slots[0].arm]
        self._laws = LaneLaws(order, first, means.clock, self._decided, means.read)
        self.driver = Driver(
            replay.schedule(),
            Means(
                means.client,
                self._laws.door,
                self._fold,
                self._sample,
                means.clock,
                timeouts_of(order.load.timeouts),
                retrier=self._laws.retrier,
            ),
            drain=order.load.drain_s,
        )

    async def drive(self, on_turn: Callable[[], None]) -> None:
        """Replay the whole schedule, changing the law at each slot; ``on_turn`` hears of each."""
        turns = asyncio.ensure_future(self._turns(on_turn))
        try:
            await self.driver.run()
        finally:
            turns.cancel()
            await asyncio.gather(turns, return_exceptions=True)
            self.settle(last=True)

    def settle(self, *, last: bool = False) -> None:
        """Write what has gathered."""
        now = max(0.0, self._clock())
        windows = self._fold.finish(now) if last else self._fold.changed(now)
        self._means.recorder.windows(windows)
        self._means.recorder.flush()

    async def _turns(self, on_turn: Callable[[], None]) -> None:
        for slot in self._slots:
            await asyncio.sleep(max(0.0, slot.start - self._clock()))
            before = self._laws.version
            policy = self._policies[slot.arm]
            self._laws.adopt(policy)
            if self._clock() > slot.counts_from and slot.start > 0:
                self._means.ran(slot, before)  # late: it still decided while the slot counted
            self._means.ran(slot, self._laws.version)
            self._fold.limit(max(0.0, self._clock()), self._laws.limiter.limit)
            on_turn()

    def _sample(self, sample: Sample) -> None:
        self._means.recorder.sample(sample)
        self._means.take(self.name, sample)

    def _decided(self, decision: Decision) -> None:
        self._means.recorder.decision(decision)
        if decision.point is DecisionPoint.CONCURRENCY:
            self._fold.limit(max(0.0, decision.at), int(decision.after))

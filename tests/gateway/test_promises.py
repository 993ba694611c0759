"""Retry-After under virtual time: whoever comes back when told is let in."""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engines.egress import EgressRules
from gateway.config_parts import EndpointConfig, LaneConfig, QueueRules
from gateway.drain import Drain
from gateway.engine import Means
from gateway.errors import Refusal
from gateway.lane import Lane, Leaving
from gateway.promises import GRACE, LONGEST, MOST_JITTER, SHORTEST, Promises
from schedulers.concurrency.base import OutcomeKind
from simulator.virtual_time import run
from tests.gateway.serving import policy


def lane(limit: int, bound: int, *, ttl_s: float = 3600.0, seed: int = 1) -> Lane:
    """A lane in the running loop's own time."""
    endpoint = EndpointConfig("e", "http://127.0.0.1:1", "m")
    clock = asyncio.get_running_loop().time
    means = Means(clock, EgressRules.open(), np.random.default_rng(seed), {})
    rules = QueueRules(bound, ttl_s)
    return Lane(LaneConfig("p", (endpoint,)), policy(limit=limit), rules, means)


@dataclass
class World:
    """Callers of one lane, each served for so long."""

    lane: Lane
    service: float
    undercut: list[tuple[float, float]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    served: int = 0

    async def call(self, tenant: str) -> None:
        """Ask; when refused, come back exactly when told, as often as it takes."""
        told = False
        loop = asyncio.get_running_loop()
        while True:
            try:
                permit = await self.lane.enter(tenant)
            except Refusal as refusal:
                wait = refusal.retry_after or 0.0
                if told:
                    self.undercut.append((loop.time(), wait))
                told = wait < LONGEST
                self.waits.append(wait)
                await asyncio.sleep(wait)
                continue
            await asyncio.sleep(self.service)
            self.lane.leave(permit, Leaving(OutcomeKind.OK, self.service, self.service))
            self.served += 1
            return


async def _crowd(world: World, arrivals: list[float], tenants: int) -> None:
    async def one(place: int, at: float) -> None:
        await asyncio.sleep(at)
        await world.call(f"t{place % tenants}")

    await asyncio.gather(*(one(place, at) for place, at in enumerate(arrivals)))


@settings(max_examples=60, deadline=None)
@given(
    limit=st.integers(1, 12),
    bound=st.integers(1, 20),
    service=st.floats(0.05, 5.0),
    tenants=st.integers(1, 3),
    gaps=st.lists(st.floats(0.0, 0.5), min_size=1, max_size=120),
    seed=st.integers(0, 1000),
)
@example(
    1, 1, 1.0, 1, [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0], 0
)  # 5 s were thought, 1 it is
def test_who_comes_back_when_told_is_never_refused_again(
    limit: int, bound: int, service: float, tenants: int, gaps: list[float], seed: int
) -> None:
    async def main() -> World:
        world = World(lane(limit, bound, seed=seed), service)
        await _crowd(world, list(np.cumsum(gaps)), tenants)
        return world

    world = run(main())
    assert world.served == len(gaps)
    assert world.undercut == []
    assert all(SHORTEST <= wait <= LONGEST + MOST_JITTER for wait in world.waits)


def test_a_storm_comes_back_one_after_another_and_not_all_at_once() -> None:
    async def main() -> World:
        world = World(lane(8, 16), 0.25)
        await _crowd(world, [0.0] * 300, 5)
        return world

    world = run(main())
    assert world.served == 300
    assert len(world.waits) / world.served <= 1.5
    told = sorted(world.waits)
    most = max(np.histogram(told, bins=np.arange(0, told[-1] + 0.1, 0.1))[0])
    assert most <= 50


def test_a_newcomer_does_not_take_the_place_that_was_promised() -> None:
    async def main() -> None:
        here = lane(1, 1)
        first = await here.enter("a")
        second = asyncio.ensure_future(here.enter("a"))
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refused:
            await here.enter("late")
        told = refused.value.retry_after
        assert told is not None
        here.leave(first, Leaving(OutcomeKind.OK))
        permit = await second
        assert here.waiting == 0
        with pytest.raises(Refusal, match="full"):
            await here.enter("newcomer")
        await asyncio.sleep(told)
        waiting = asyncio.ensure_future(here.enter("late"))
        await asyncio.sleep(0)
        assert here.waiting == 1
        here.leave(permit, Leaving(OutcomeKind.OK))
        here.leave(await waiting, Leaving(OutcomeKind.OK))

    run(main())


def test_a_promise_that_nobody_comes_back_for_is_given_to_others() -> None:
    promises = Promises(np.random.default_rng(1))
    wait = promises.refuse(0.0, "a", rate=1.0, latency=1.0)
    assert promises.outstanding(wait) == 1
    assert not promises.redeem(wait - 0.01, "a")
    assert promises.outstanding(wait + MOST_JITTER + GRACE + 0.01) == 0
    assert not promises.redeem(wait + MOST_JITTER + GRACE + 0.02, "a")


def test_a_promise_is_the_tenants_own() -> None:
    promises = Promises(np.random.default_rng(1))
    wait = promises.refuse(0.0, "a", rate=1.0, latency=1.0)
    assert not promises.redeem(wait, "b")
    assert promises.redeem(wait, "a")
    assert not promises.redeem(wait, "a")


@given(
    rate=st.floats(1e-6, 1e6),
    latency=st.floats(0.0, 1e4),
    times=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=50),
)
def test_a_wait_is_clamped_and_later_refusals_are_told_later_times(
    rate: float, latency: float, times: list[float]
) -> None:
    promises = Promises(np.random.default_rng(2))
    now = 0.0
    kept: list[float] = []
    for step in times:
        now += step
        wait = promises.refuse(now, "a", rate=rate, latency=latency)
        assert SHORTEST <= wait <= LONGEST + MOST_JITTER
        heapq.heappush(kept, now + wait)
        assert promises.outstanding(now) <= len(kept)


def test_a_drain_in_waves_promises_no_place_before_the_next_wave() -> None:
    drain = Drain()
    drain.waiting(0.0, 5)
    for wave in range(1, 5):
        for _ in range(10):
            drain.departed(5.0 * wave, 5.0)
    rate, latency = drain.promise(20.0, 10)
    assert rate <= 2.0
    assert latency >= 5.0
    assert 20.1 + latency + 1 / rate >= 25.0

"""The limiter: first come first served, never over the limit, and no permit is ever lost."""

from __future__ import annotations

import asyncio
import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.parse import build
from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision
from schedulers.law import Fault, Standing
from schedulers.runtime.limiter import Limiter, Permit
from simulator import virtual_time


@dataclass(frozen=True)
class Scripted:
    """A law that a test steers: the limit becomes the prompt tokens of the last observation."""

    name: ClassVar[str] = "scripted"
    summary: ClassVar[str] = "Steered."
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = ()
    initial: int = 1

    def start(self) -> int:
        return self.initial

    def step(self, state: int, seen: Observation, now: float) -> tuple[int, Decision | None]:
        return state if seen.prompt_tokens is None else seen.prompt_tokens, None

    def limit(self, state: int) -> int:
        return state

    def until(self, state: int) -> float:
        return math.inf

    def bounds(self) -> tuple[int, int]:
        return 1, 10**6


@dataclass(frozen=True)
class Opening(Scripted):
    """One more may be in flight every ten seconds, whatever happens."""

    def step(self, state: int, seen: Observation, now: float) -> tuple[int, Decision | None]:
        return (state + 1 if seen.kind is OutcomeKind.TICK else state), None

    def until(self, state: int) -> float:
        return 10.0 * state


def limiter_of(limit: int) -> Limiter:
    return Limiter(Scripted(limit), clock=asyncio.get_running_loop().time)


def test_as_many_as_the_limit_pass_at_once_and_the_next_one_waits() -> None:
    async def main() -> None:
        limiter = limiter_of(2)
        first, second = limiter.try_acquire(), await limiter.acquire()
        assert first is not None
        assert (first.serial, second.serial) == (1, 2)
        assert (first.in_flight, second.in_flight) == (1, 2)
        assert limiter.try_acquire() is None
        waiter = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(7.0)
        assert (limiter.in_flight, limiter.waiting, waiter.done()) == (2, 1, False)
        limiter.release(first)
        third = await waiter
        assert (third.granted_at, limiter.in_flight, limiter.waiting) == (7.0, 2, 0)

    virtual_time.run(main())


def test_nobody_passes_those_who_have_waited_longer() -> None:
    async def main() -> None:
        limiter, order = limiter_of(1), []
        held = await limiter.acquire()

        async def client(name: int) -> None:
            permit = await limiter.acquire()
            order.append(name)
            await asyncio.sleep(1.0)
            limiter.release(permit)

        async with asyncio.TaskGroup() as tasks:
            for name in range(5):
                tasks.create_task(client(name))
            await asyncio.sleep(1.0)
            limiter.release(held)
            assert limiter.try_acquire() is None
        assert order == [0, 1, 2, 3, 4]

    virtual_time.run(main())


def test_a_higher_limit_wakes_exactly_as_many_as_there_is_room() -> None:
    async def main() -> None:
        limiter = limiter_of(1)
        held = await limiter.acquire()
        tasks = [asyncio.create_task(limiter.acquire()) for _ in range(10)]
        await asyncio.sleep(1.0)
        limiter.release(held, prompt_tokens=4)
        assert (limiter.limit, limiter.in_flight, limiter.waiting) == (4, 4, 6)
        await asyncio.sleep(1.0)
        assert [task.done() for task in tasks] == [True] * 4 + [False] * 6
        for task in tasks:
            task.cancel()

    virtual_time.run(main())


def test_a_lower_limit_lets_what_is_in_flight_finish() -> None:
    async def main() -> None:
        limiter = limiter_of(4)
        held = [await limiter.acquire() for _ in range(4)]
        waiter = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        limiter.release(held.pop(), prompt_tokens=2)
        assert (limiter.in_flight, limiter.waiting) == (3, 1)
        limiter.release(held.pop())
        assert (limiter.in_flight, limiter.waiting) == (2, 1)
        limiter.release(held.pop())
        await waiter
        assert limiter.in_flight == 2

    virtual_time.run(main())


def test_a_permit_granted_to_one_who_is_cancelled_at_that_instant_goes_to_the_next() -> None:
    async def main() -> None:
        limiter = limiter_of(1)
        held = await limiter.acquire()
        first = asyncio.create_task(limiter.acquire())
        second = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(1.0)
        limiter.release(held)  # the permit is the first one's, who does not run before
        first.cancel()  # being cancelled
        permit = await second
        assert first.cancelled()
        assert (permit.serial, limiter.in_flight, limiter.waiting) == (3, 1, 0)

    virtual_time.run(main())


def test_one_who_gives_up_waiting_leaves_nothing_behind() -> None:
    async def main() -> None:
        limiter = limiter_of(1)
        held = await limiter.acquire()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3.0):
                await limiter.acquire()
        assert (limiter.waiting, limiter.in_flight) == (0, 1)
        limiter.release(held)
        assert limiter.try_acquire() is not None

    virtual_time.run(main())


def test_a_cancelled_waiter_that_has_not_run_yet_blocks_nobody() -> None:
    async def main() -> None:
        limiter = limiter_of(1)
        held = await limiter.acquire()
        waiter = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        waiter.cancel()
        limiter.release(held)
        assert limiter.try_acquire() is not None

    virtual_time.run(main())


def test_a_permit_is_released_once() -> None:
    async def main() -> None:
        limiter = limiter_of(2)
        permit = await limiter.acquire()
        limiter.release(permit)
        with pytest.raises(RuntimeError, match="permit 1 was released before"):
            limiter.release(permit)
        assert limiter.in_flight == 0

    virtual_time.run(main())


def test_a_law_that_moves_with_time_is_asked_when_its_answer_ends() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        limiter = Limiter(Opening(1), clock=loop.time)
        granted = []

        async def client() -> None:
            granted.append((await limiter.acquire()).granted_at)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(client())
        await asyncio.sleep(15.0)  # nobody waits: no timer runs, and the next to come asks
        assert limiter.try_acquire() is not None
        return granted

    assert virtual_time.run(main()) == [0.0, 10.0, 20.0]


def test_room_that_time_made_goes_to_the_one_who_waits_not_to_the_one_who_finds_it() -> None:
    async def main() -> None:
        now = [0.0]
        limiter = Limiter(Opening(1), clock=lambda: now[0])
        await limiter.acquire()
        waiter = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        now[0] = 10.0
        assert limiter.try_acquire() is None
        assert (await waiter).granted_at == 10.0

    virtual_time.run(main())


def test_the_law_learns_what_the_host_saw_and_the_cost_is_counted_apart() -> None:
    seen: list[Observation] = []

    class Watching(Scripted):
        def step(self, state: int, seen_now: Observation, now: float) -> tuple[int, None]:
            seen.append(seen_now)
            return state, None

    async def main() -> Limiter:
        loop = asyncio.get_running_loop()
        cost = itertools.count(0.0, 0.25)
        limiter = Limiter(Watching(8), loop.time, cost_clock=lambda: next(cost))
        permit, other = await limiter.acquire(), await limiter.acquire()
        await asyncio.sleep(2.0)
        limiter.release(permit, ttft=0.5, prompt_tokens=12, output_tokens=34)
        limiter.release(other, outcome_kind=OutcomeKind.REJECTED, latency=0.05, retry_after=5.0)
        return limiter

    limiter = virtual_time.run(main())
    assert seen == [
        Observation(
            started_at=0.0,
            in_flight=2,
            latency=2.0,
            ttft=0.5,
            serial=1,
            granted=2,
            prompt_tokens=12,
            output_tokens=34,
        ),
        Observation(
            started_at=0.0,
            in_flight=1,
            kind=OutcomeKind.REJECTED,
            latency=0.05,
            serial=2,
            granted=2,
            retry_after=5.0,
        ),
    ]
    assert (limiter.steps, limiter.deciding_seconds) == (2, 0.5)


def test_the_law_learns_of_a_first_token_when_it_comes_and_once() -> None:
    seen: list[Observation] = []

    class Growing(Scripted):
        def step(self, state: int, seen_now: Observation, now: float) -> tuple[int, None]:
            seen.append(seen_now)
            return state + (seen_now.kind is OutcomeKind.FIRST_TOKEN), None

    async def main() -> None:
        limiter = Limiter(Growing(1), asyncio.get_running_loop().time)
        permit = await limiter.acquire()
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0.5)
        limiter.first_token(permit)
        limiter.first_token(permit, 9.0)
        other = await waiting
        await asyncio.sleep(1.0)
        limiter.release(permit, ttft=0.5)
        limiter.first_token(permit)
        limiter.release(other)

    virtual_time.run(main())
    assert [(one.kind.value, one.ttft, one.told, one.waiting) for one in seen] == [
        ("first_token", 0.5, False, 1),
        ("ok", 0.5, True, 0),
        ("ok", None, False, 0),
    ]


def test_every_decision_is_reported() -> None:
    async def main() -> tuple[Limiter, list[Decision]]:
        told: list[Decision] = []
        law = build(laws.get("aimd"), {"initial": 2})
        limiter = Limiter(law, asyncio.get_running_loop().time, on_decision=told.append)
        for _ in range(2):
            permits = [await limiter.acquire() for _ in range(2)]
            await asyncio.sleep(1.0)
            for permit in permits:
                limiter.release(permit)
        return limiter, told

    limiter, told = virtual_time.run(main())
    assert [(d.at, d.before, d.after) for d in told] == [(1.0, 2, 3)]
    assert (limiter.decisions, limiter.limit) == (1, 3)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(1, 4)),
        st.tuples(st.just("give_up"), st.integers(0, 5)),
        st.tuples(st.just("finish"), st.integers(0, 5)),
        st.tuples(st.just("resize"), st.integers(1, 6)),
        st.tuples(st.just("turn"), st.integers(1, 3)),
    ),
    max_size=60,
)


class World:
    """Clients in the order of their asking, and what each of them has got."""

    def __init__(self, limit: int) -> None:
        self.limiter = limiter_of(limit)
        self.tasks: list[asyncio.Task[Permit]] = []
        self.held: list[Permit] = []
        self.collected: set[asyncio.Task[Permit]] = set()

    def collect(self) -> None:
        for task in self.tasks:
            if task.done() and not task.cancelled() and task not in self.collected:
                self.collected.add(task)
                self.held.append(task.result())

    def open(self) -> list[asyncio.Task[Permit]]:
        return [task for task in self.tasks if not task.done()]

    async def act(self, action: str, number: int) -> None:
        if action == "ask":
            self.tasks += [asyncio.create_task(self.limiter.acquire()) for _ in range(number)]
        elif action == "give_up" and len(self.open()) > number:
            self.open()[number].cancel()
        elif action == "finish" and self.held:
            self.limiter.release(self.held.pop(number % len(self.held)))
        elif action == "resize" and self.held:
            self.limiter.release(self.held.pop(), prompt_tokens=number)
        elif action == "turn":
            for _ in range(number):
                await asyncio.sleep(0)
            self.collect()

    async def settle(self) -> None:
        await asyncio.sleep(0.001)
        self.collect()


@given(limit=st.integers(1, 4), actions=ACTIONS)
def test_no_permit_is_lost_whoever_gives_up_whenever(
    limit: int, actions: list[tuple[str, int]]
) -> None:
    async def main() -> None:
        world = World(limit)
        for action, number in actions:
            await world.act(action, number)
        await world.settle()
        limiter = world.limiter
        assert limiter.in_flight == len(world.held)
        assert limiter.waiting == len(world.open())
        assert limiter.waiting == 0 or limiter.in_flight >= limiter.limit
        serials = [t.result().serial for t in world.tasks if t in world.collected]
        assert serials == sorted(serials), "a later one was served before an earlier one"
        while world.held:
            limiter.release(world.held.pop())
            await world.settle()
        assert world.open() == []
        assert (limiter.in_flight, limiter.waiting) == (0, 0)

    virtual_time.run(main())

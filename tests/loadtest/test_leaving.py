"""How requests leave: prepared ahead, together when due together, in order, and leaving nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from documents.parse import build
from loadtest.arrivals.base import processes
from loadtest.door import LimiterDoor
from loadtest.driver import Driver
from loadtest.pacer import OpenPacer
from loadtest.schedule import Job, Schedule
from loadtest.workloads.base import workloads
from measurement.outcome import Outcome
from schedulers.runtime.limiter import Permit
from simulator import virtual_time
from tests.loadtest.fakes import FakeEngine, jump, run
from tests.loadtest.simulation.policies import policy

EACH = 50e-6
"""Seconds between two requests."""


class Launches:
    """Notes what the pacer has done with which request, and when."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int]] = []
        self.left: list[float] = []
        self.on_launch: Callable[[int], None] = lambda index: None

    def prepare(self, job: Job, prompt: str) -> Any:
        self.steps.append(("prepared", job.index))
        return job

    def depart(self, departure: Any) -> None:
        self.steps.append(("left", departure.index))
        self.left.append(asyncio.get_running_loop().time())

    def launch(self, departure: Any) -> None:
        self.steps.append(("noted", departure.index))
        self.on_launch(departure.index)

    def of(self, *steps: str) -> list[tuple[str, int]]:
        return [one for one in self.steps if one[0] in steps]


def paced(meddle: Callable[[OpenPacer, Launches], None], count: int = 20) -> Launches:
    """Requests 50 µs apart through the pacer, in virtual time."""
    launches = Launches()

    async def main() -> None:
        schedule = Schedule(
            build(processes.get("constant"), {"rate": 1 / EACH}),
            build(workloads.get("fixed"), {"prompt_tokens": 8, "output_tokens": 4}),
            duration=count * EACH,
            seed=1,
        )
        pacer = OpenPacer(schedule, launches, asyncio.get_running_loop().time)
        meddle(pacer, launches)
        await pacer.run()

    virtual_time.run(main())
    return launches


def in_order(count: int = 20) -> list[tuple[str, int]]:
    return [("left", index) for index in range(count)]


def never_early(launches: Launches) -> bool:
    return all(at >= index * EACH - 1e-12 for index, at in enumerate(launches.left))


def test_what_is_due_together_leaves_before_anything_is_noted_of_it() -> None:
    def stalled(pacer: OpenPacer, launches: Launches) -> None:
        loop = asyncio.get_running_loop()
        loop.call_at(4.5 * EACH, jump, loop, 2 * EACH)

    launches = paced(stalled)
    place = launches.steps.index(("left", 5))
    found = [step for step in launches.steps[place:] if step[0] != "prepared"][:4]
    assert found == [("left", 5), ("left", 6), ("noted", 5), ("noted", 6)]
    assert launches.of("left") == in_order()


def test_what_becomes_due_in_the_midst_of_other_work_leaves_at_the_next_look() -> None:
    def working(pacer: OpenPacer, launches: Launches) -> None:
        loop = asyncio.get_running_loop()

        def work() -> None:
            for _ in range(3):
                jump(loop, EACH)
                pacer.look()
                pacer.look()

        loop.call_at(4.5 * EACH, work)

    launches = paced(working)
    assert launches.left[5:8] == pytest.approx([5.5 * EACH, 6.5 * EACH, 7.5 * EACH])
    assert launches.of("left") == in_order()
    assert never_early(launches)


def test_noting_one_request_that_takes_long_never_lets_two_pass_each_other() -> None:
    def slow(pacer: OpenPacer, launches: Launches) -> None:
        loop = asyncio.get_running_loop()

        def noting(index: int) -> None:
            jump(loop, 1.7 * EACH)
            pacer.look()

        launches.on_launch = noting

    launches = paced(slow)
    assert launches.of("left") == in_order()
    assert launches.of("noted") == [("noted", index) for index in range(20)]
    assert never_early(launches)


def test_however_many_are_overdue_other_work_gets_its_turn_in_between() -> None:
    turns = [0]
    at_turn: list[int] = []

    def overdue(pacer: OpenPacer, launches: Launches) -> None:
        loop = asyncio.get_running_loop()

        def count() -> None:
            turns[0] += 1
            if turns[0] < 40:  # for ever, and virtual time would stand still
                loop.call_soon(count)

        def stand_still() -> None:
            jump(loop, 300 * EACH)
            count()

        def noting(index: int) -> None:
            at_turn.append(turns[0])
            pacer.look()

        launches.on_launch = noting
        loop.call_at(10.5 * EACH, stand_still)

    launches = paced(overdue, count=400)
    assert launches.of("left") == in_order(400)
    assert max(at_turn.count(turn) for turn in set(at_turn[11:300])) <= 64


def test_nobody_passes_one_whom_the_policy_has_not_been_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A place that comes free between two departures belongs to the first of them."""
    asked: list[Permit | None] = []
    enter_now = LimiterDoor.enter_now

    def full_for_a_moment(door: LimiterDoor) -> Permit | None:
        asked.append(None if len(asked) == 31 else enter_now(door))
        return asked[-1]

    monkeypatch.setattr(LimiterDoor, "enter_now", full_for_a_moment)
    engine = FakeEngine()
    ran = run(engine, limit=100, ahead=True, stall=(3.05, 0.3))
    assert None in asked
    sent = [sample.sent_at for sample in sorted(ran.samples, key=lambda each: each.index)]
    at_once = run(FakeEngine(), limit=100, stall=(3.05, 0.3))
    assert [one.prompt for one in engine.requests] == [
        one.prompt for one in at_once.engine.requests
    ]
    assert sent == sorted(sent)


def test_the_next_request_is_prepared_before_it_is_due() -> None:
    launches = paced(lambda pacer, launches: None)
    for index in range(20):
        assert launches.steps.index(("prepared", index)) < launches.steps.index(("left", index))
    ahead = launches.steps.index(("left", 10))
    assert ("prepared", 11) in launches.steps[:ahead]


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("limit", [None, 1, 3])
def test_calls_made_ahead_go_out_in_order_and_within_the_policys_limit(
    limit: int | None, ready: bool
) -> None:
    engine = FakeEngine(lambda nth: (0.05 * (nth % 7), 0.03, Outcome.OK), ready=ready)
    ran = run(engine, limit=limit, drain=60, ahead=True, stall=(3.05, 0.3))
    at_once = run(FakeEngine(engine.serve), limit=limit, drain=60, stall=(3.05, 0.3))
    assert engine.most_open <= (limit or 100)
    by_index = sorted(ran.samples, key=lambda sample: sample.index)
    sent = [sample.sent_at for sample in by_index]
    assert sent == sorted(sent)
    # The same requests, whenever they were prepared.
    assert [one.prompt for one in engine.requests] == [
        one.prompt for one in at_once.engine.requests
    ]
    assert ran.limiter is None or (ran.limiter.in_flight, ran.limiter.waiting) == (0, 0)


def test_what_the_policy_refuses_was_prepared_and_is_never_sent() -> None:
    engine = FakeEngine()
    bucket = {"law": "token_bucket", "rate": 16, "burst": 120, "max_wait_s": 0}
    ran = run(engine, policy=policy(admission=bucket), drain=60, ahead=True)
    shed = [sample for sample in ran.samples if sample.outcome is Outcome.SHED]
    assert shed
    assert all(sample.sent_at is None for sample in shed)
    assert len(engine.requests) == len(ran.samples) - len(shed)
    assert (engine.open, ran.driver.in_flight) == (0, 0)


@pytest.mark.parametrize("limit", [None, 5])
@pytest.mark.parametrize("hops", range(8))
def test_one_that_is_cancelled_as_soon_as_it_has_left_leaves_nothing_behind(
    hops: int, limit: int | None
) -> None:
    """Whatever turn of the event loop it leaves in, between the cancelling and the closing."""

    def meddle(driver: Driver) -> None:
        driver.cancel()
        hop(driver, hops)

    def hop(driver: Driver, left: int) -> None:
        loop = asyncio.get_running_loop()
        if left:
            loop.call_soon(hop, driver, left - 1)
        else:
            jump(loop, 0.1)
            driver.look()

    engine = FakeEngine(lambda _: (0.01, 0.0, Outcome.OK))
    ran = run(engine, meddle=(1.05, meddle), limit=limit, ahead=True)
    assert (engine.open, ran.driver.in_flight) == (0, 0)
    assert len(ran.samples) == ran.driver.offered
    assert ran.limiter is None or ran.limiter.in_flight == 0


@pytest.mark.parametrize("ready", [True, False])
def test_a_fault_of_our_own_on_the_way_out_ends_the_run(ready: bool) -> None:
    def broken(nth: int) -> tuple[float, float, Outcome]:
        if nth == 30:
            raise ZeroDivisionError
        return (0.1, 0.0, Outcome.OK)

    engine = FakeEngine(broken, ready=ready)
    with pytest.raises(ZeroDivisionError):
        run(engine, ahead=True)
    assert len(engine.requests) < 40

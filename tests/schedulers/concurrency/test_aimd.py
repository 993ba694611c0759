"""AIMD as a reader would state it: when it grows, when it cuts, where it settles."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from documents.parse import build
from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision, Reason
from schedulers.runtime.limiter import Limiter
from simulator import virtual_time
from tests.schedulers.congestion import bulk

Aimd = laws.get("aimd")
FAST, SLOW = 0.1, 9.0


def steps(
    law: Any, *observations: tuple[Observation, float], start: Any = None
) -> tuple[Any, list[Decision]]:
    state, decisions = start if start is not None else law.start(), []
    for seen, now in observations:
        state, decision = law.step(state, seen, now)
        decisions += [decision] if decision else []
    return state, decisions


def answer(
    started_at: float = 4.0,
    latency: float = FAST,
    in_flight: int = 10,
    kind: OutcomeKind = OutcomeKind.OK,
) -> tuple[Observation, float]:
    seen = Observation(started_at=started_at, in_flight=in_flight, kind=kind, latency=latency)
    return seen, started_at + latency


def test_one_window_at_the_limit_earns_one_step() -> None:
    law = build(Aimd, {"initial": 10, "add": 2.0})
    state, decisions = steps(law, *[answer()] * 10)
    assert law.limit(state) == 12
    assert [(d.before, d.after, d.reason) for d in decisions] == [(10, 12, Reason.GROWN)]
    assert decisions[0].inputs == {"exact": 12.0, "peak": 10, "answers": 10}


def test_a_window_may_be_a_count_of_answers_instead() -> None:
    law = build(Aimd, {"initial": 10, "window": 25})
    state, _ = steps(law, *[answer()] * 24)
    assert law.limit(state) == 10
    state, _ = steps(law, answer(), start=state)
    assert law.limit(state) == 11


def test_one_moment_at_the_limit_is_enough_and_none_is_not() -> None:
    law = build(Aimd, {"initial": 10})
    reached, _ = steps(law, *[answer(in_flight=9)] * 9, answer(in_flight=10))
    short, decisions = steps(law, *[answer(in_flight=9)] * 10)
    assert (law.limit(reached), law.limit(short)) == (11, 10)
    assert [d.reason for d in decisions] == [Reason.APP_LIMITED]


def test_it_says_when_it_stands_at_its_maximum() -> None:
    law = build(Aimd, {"initial": 10, "max": 10})
    assert [d.reason for d in steps(law, *[answer()] * 10)[1]] == [Reason.AT_MAXIMUM]


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(answer(latency=SLOW), Reason.TIMED_OUT, id="slow answer"),
        pytest.param(answer(kind=OutcomeKind.TIMED_OUT), Reason.TIMED_OUT, id="time-out"),
        pytest.param(answer(kind=OutcomeKind.REJECTED), Reason.REJECTED_BY_ENGINE, id="refusal"),
    ],
)
def test_overload_cuts_by_the_factor(seen: tuple[Observation, float], reason: Reason) -> None:
    law = build(Aimd, {"initial": 10, "backoff": 0.7, "signal": "e2e"})
    state, decisions = steps(law, seen)
    assert law.limit(state) == 7
    assert [d.reason for d in decisions] == [reason]


@pytest.mark.parametrize("kind", [OutcomeKind.FAILED, OutcomeKind.CANCELLED, OutcomeKind.TICK])
def test_what_tells_nothing_about_load_changes_nothing(kind: OutcomeKind) -> None:
    law = build(Aimd, {"initial": 1})
    assert steps(law, answer(kind=kind)) == (law.start(), [])


def test_without_a_time_out_only_refusals_cut() -> None:
    law = build(Aimd, {"initial": 10, "timeout_ms": None})
    assert law.limit(steps(law, *[answer(latency=SLOW)] * 10)[0]) == 11


@pytest.mark.parametrize(("signal", "limit"), [("ttft", 10), ("e2e", 5)])
def test_the_time_out_is_held_against_the_chosen_signal(signal: str, limit: int) -> None:
    law = build(Aimd, {"initial": 10, "backoff": 0.5, "signal": signal})
    seen = Observation(started_at=0.0, in_flight=10, latency=SLOW, ttft=FAST)
    assert law.limit(law.step(law.start(), seen, SLOW)[0]) == limit


def test_it_cuts_again_only_for_requests_that_started_after_the_last_cut() -> None:
    law = build(Aimd, {"initial": 10, "backoff": 0.5, "signal": "e2e"})
    refused = OutcomeKind.REJECTED
    state, _ = steps(law, (answer(kind=refused)[0], 5.0))
    for started, limit in ((4.5, 5), (5.0, 5), (5.1, 2)):
        seen = Observation(started_at=started, in_flight=10, kind=refused)
        assert law.limit(law.step(state, seen, 6.0)[0]) == limit


def test_it_settles_near_the_capacity_of_the_service() -> None:
    law = build(Aimd, {"timeout_ms": 1000, "signal": "e2e"})

    async def two_minutes() -> list[int]:
        loop = asyncio.get_running_loop()
        limiter = Limiter(law, clock=loop.time)
        limits: list[int] = []

        async def client() -> None:
            while loop.time() < 120.0:
                permit = await limiter.acquire()
                await asyncio.sleep(0.5 if limiter.in_flight <= 32 else 2.0)
                limiter.release(permit)
                limits.append(limiter.limit)

        async with asyncio.TaskGroup() as load:
            for _ in range(100):
                load.create_task(client())
        assert (limiter.in_flight, limiter.waiting) == (0, 0)
        return limits

    limits = virtual_time.run(two_minutes())
    settled = limits[len(limits) // 2 :]
    assert 26 <= min(settled) <= max(settled) <= 34


@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.3, 0.6])
def test_the_sources_aimd_saws_around_the_cliff_whatever_the_spread(sigma: float) -> None:
    source = {"min": 2, "max": 128, "initial": 16, "window": 25, "backoff": 0.5, "timeout_ms": None}
    seen = bulk(build(Aimd, source), tasks=2000, sigma=sigma, seed=1)
    assert 0.45 < seen.of_optimum() < 0.65
    assert 0 < seen.refused <= 10
    assert max(seen.limits) > 70

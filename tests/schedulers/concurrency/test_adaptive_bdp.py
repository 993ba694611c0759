"""adaptive_bdp: the small plants that it must do well on, and the steps that a page explains."""

from __future__ import annotations

import heapq
import math
from typing import Any

import pytest

from documents.parse import build
from documents.problem import DocumentError
from schedulers.builtin import builtin
from schedulers.concurrency.base import Observation, OutcomeKind, laws
from schedulers.decision import Decision, Reason
from simulator.plants import measures as m
from simulator.plants.congestion import Congestion, Step
from simulator.plants.run import Load, Outcome, run
from simulator.plants.work import Work
from tests.schedulers.congestion import bulk

Adaptive: Any = laws.get("adaptive_bdp")
CONSTANT = Work(dist="constant")


def played(
    work: Work, load: Load, *, seed: int = 1, end_s: float = 36_000.0, steps: tuple[Step, ...] = ()
) -> Outcome:
    return run(Congestion(), work, ((Adaptive(), load),), steps=steps, end_s=end_s, seed=seed)


def reasons(seen: Outcome) -> list[Reason]:
    return [decision.reason for decision in seen.clients[0].decisions]


@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("seed", [1, 2])
def test_two_thousand_tasks_take_under_one_and_a_half_times_the_optimum(
    sigma: float, seed: int
) -> None:
    seen = bulk(Adaptive(), tasks=2000, sigma=sigma, seed=seed)
    assert 1.0 / seen.of_optimum() <= 1.45
    assert seen.refused == 0
    assert max(seen.limits) <= 62


@pytest.mark.parametrize(
    "work",
    [Work(dist="gamma", shape=4.0), Work(dist="bimodal", share=0.1, ratio=8.0), CONSTANT],
    ids=lambda work: work.dist,
)
@pytest.mark.parametrize("plant", [(20, 27, 35, 2.0), (100, 150, 200, 0.1), (60, 66, 90, 20.0)])
def test_plants_that_are_not_listed_are_worked_near_their_optimum(
    plant: tuple[int, int, int, float], work: Work
) -> None:
    capacity, knee, reject_at, base_s = plant
    server = Congestion(
        capacity=capacity, knee=knee, reject_at=reject_at, base_s=base_s, top_s=6 * base_s
    )
    seen = run(server, work, ((Adaptive(), Load()),), end_s=150 * base_s, seed=3)
    assert m.rate(seen, 50 * base_s, 150 * base_s) >= 0.85 * server.optimum


def test_half_the_capacity_is_found_and_the_whole_again() -> None:
    steps = (
        Step(at_s=25.0, capacity=22, knee=27, reject_at=34),
        Step(at_s=60.0, capacity=45, knee=55, reject_at=70),
    )
    seen = played(Work(sigma=0.1), Load(), steps=steps, end_s=90.0)
    assert m.rate(seen, 35.0, 60.0) >= 0.95 * 55.0
    assert m.rate(seen, 72.0, 90.0) >= 0.90 * 112.5
    assert m.refused(seen) <= 10


def test_a_longer_route_is_told_from_a_queue_and_the_cut_is_undone() -> None:
    steps = (Step(at_s=20.0, network_s=0.2),)
    seen = played(Work(sigma=0.1), Load(), steps=steps, end_s=60.0)
    assert Reason.UNDO in reasons(seen)
    assert m.rate(seen, 40.0, 60.0) >= 0.75 * 112.5


def test_idle_hours_earn_nothing_and_the_burst_after_them_is_not_refused() -> None:
    quiet = [0.2 * i for i in range(500)]
    seen = played(Work(sigma=0.1), Load(arrivals=(*quiet, *[100.0] * 500)))
    assert m.highest(seen.clients[0], 0.0, 100.0) <= 10
    assert seen.seconds - 100.0 <= 9.0
    assert m.refused(seen) == 0


def test_after_a_pause_only_what_was_proven_holds() -> None:
    law = Adaptive()
    state = law.start()
    now, serial = 0.0, 0
    while law.limit(state) < 30:
        in_flight, now = law.limit(state), now + 0.01
        serial += 1
        seen = Observation(
            started_at=now - 0.1,
            in_flight=in_flight,
            latency=0.1,
            serial=serial,
            granted=serial + in_flight - 1,
        )
        state, _ = law.step(state, seen, now)
    late = Observation(
        started_at=now + 60, in_flight=1, latency=0.1, serial=serial + 1, granted=serial + 1
    )
    state, decision = law.step(state, late, now + 60.1)
    assert decision is not None
    assert decision.reason is Reason.APP_LIMITED
    assert law.limit(state) == int(decision.after) < 30


@pytest.mark.parametrize("kind", [OutcomeKind.REJECTED, OutcomeKind.TIMED_OUT])
def test_a_refusal_cuts_once_below_what_was_in_flight(kind: OutcomeKind) -> None:
    law = build(Adaptive, {"initial": 100})
    state = law.start()
    found: list[Decision] = []
    for i in range(5):
        seen = Observation(started_at=1.0, in_flight=80 - i, kind=kind, latency=0.05)
        state, decision = law.step(state, seen, 2.0 + i)
        found += [decision] if decision else []
    assert [decision.after for decision in found] == [72]
    later = Observation(started_at=9.0, in_flight=70, kind=kind, latency=0.05)
    state, decision = law.step(state, later, 9.1)
    assert law.limit(state) == 61


def test_hosts_that_count_no_serials_are_understood() -> None:
    law = Adaptive()
    state, now = law.start(), 0.0
    for _ in range(400):
        now += 0.05
        seen = Observation(started_at=now - 0.4, in_flight=law.limit(state), latency=0.4)
        state, _ = law.step(state, seen, now)
    assert law.limit(state) > 8


def test_a_rise_that_no_cut_can_lower_is_accepted_at_the_minimum() -> None:
    steps = (Step(at_s=10.0, network_s=30.0),)
    law = build(Adaptive, {"min": 8, "initial": 8, "max": 9})
    seen = run(Congestion(), CONSTANT, ((law, Load()),), steps=steps, end_s=1500.0)
    assert reasons(seen)[-1] is not Reason.AT_MINIMUM
    assert {Reason.BASELINE_EXPIRED, Reason.UNDO} & set(reasons(seen))


def test_a_decision_shows_the_medians_that_it_compared() -> None:
    seen = played(CONSTANT, Load(tasks=200))
    assert set(seen.clients[0].decisions[-1].inputs) == {
        "exact",
        "median",
        "error",
        "pooled",
        "baseline",
        "evidence",
        "peak",
    }


def test_it_is_the_recommended_policy_and_takes_no_impossible_bounds() -> None:
    policy = builtin("adaptive-bdp")
    assert policy.law("concurrency") == Adaptive(signal="ttft")
    with pytest.raises(DocumentError):
        build(Adaptive, {"min": 9, "initial": 8})


def first_tokens(
    law: Any, *, ttft: float, rounds: int, apart: float = 0.001
) -> tuple[list[int], list[Decision]]:
    """First tokens come, so far apart, and no answer ends; limits after each round."""
    state, now, granted = law.start(), 0.0, 0
    limits, found = [], list[Decision]()
    for _ in range(rounds):
        limit = law.limit(state)
        for _ in range(limit - granted):
            granted += 1
            now += apart
            seen = Observation(
                started_at=now - ttft,
                in_flight=granted,
                kind=OutcomeKind.FIRST_TOKEN,
                ttft=ttft,
                serial=granted,
                granted=granted,
                waiting=1000,
            )
            state, decision = law.step(state, seen, now)
            found += [decision] if decision else []
        limits.append(law.limit(state))
    return limits, found


def test_first_tokens_that_come_one_by_one_double_the_limit_once_before_an_answer_ends() -> None:
    limits, found = first_tokens(Adaptive(), ttft=0.04, rounds=5, apart=0.1)
    assert limits == [16] * 5
    assert [decision.reason for decision in found].count(Reason.GROWN) == 1


def test_first_tokens_of_a_burst_raise_no_limit_before_an_answer_has_shown_its_pace() -> None:
    limits, found = first_tokens(Adaptive(), ttft=0.04, rounds=5)
    assert limits == [8] * 5
    assert {decision.reason for decision in found} == {Reason.STEADY}


def test_a_law_that_follows_the_whole_answer_learns_nothing_of_first_tokens() -> None:
    assert first_tokens(Adaptive(signal="e2e"), ttft=0.04, rounds=2) == ([8, 8], [])


def test_a_prompt_engine_is_reached_within_a_few_answers() -> None:
    """Answers of 2 s, first tokens after 0.05 s, nothing queues: 8 to 64 within 8 s."""
    law, now, granted, reached = Adaptive(), 0.0, 0, math.inf
    state, events = law.start(), list[tuple[float, int, float, bool]]()
    in_flight = 0
    while now < 60.0 and reached == math.inf:
        while in_flight < law.limit(state):
            granted, in_flight = granted + 1, in_flight + 1
            heapq.heappush(events, (now + 0.05, granted, now, False))
            heapq.heappush(events, (now + 2.0 + 0.001 * (granted % 7), granted, now, True))
        now, serial, started, over = heapq.heappop(events)
        seen = Observation(
            started_at=started,
            in_flight=in_flight,
            kind=OutcomeKind.OK if over else OutcomeKind.FIRST_TOKEN,
            latency=now - started if over else None,
            ttft=0.05,
            serial=serial,
            granted=granted,
            waiting=100,
            output_tokens=100 if over else None,
            told=over,
        )
        in_flight -= over
        state, _ = law.step(state, seen, now)
        reached = now if law.limit(state) >= 64 else math.inf
    assert reached <= 8.0

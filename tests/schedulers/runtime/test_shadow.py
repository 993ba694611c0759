"""A shadow sees what the active law sees; it is recorded, and never obeyed."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulers.concurrency.base import ConcurrencyLaw, Observation, OutcomeKind, laws
from schedulers.decision import Decision
from schedulers.runtime import shadow
from schedulers.runtime.limiter import Limiter
from schedulers.runtime.shadow import Divergence, Shadow, ShadowReport, agree
from simulator import virtual_time
from tests.schedulers.law_cases import EVERY_LAW, histories, instances

Fixed = laws.get("fixed")
Aimd = laws.get("aimd")
History = list[tuple[Observation, float]]


def fixed(limit: int) -> ConcurrencyLaw[Any]:
    return Fixed(size=limit)  # type: ignore[call-arg]


@settings(deadline=None)  # two laws for each step
@given(data=st.data(), history=histories(), cls=st.sampled_from(EVERY_LAW))
def test_a_shadow_of_the_same_law_agrees_at_every_step(
    cls: type[ConcurrencyLaw[Any]], data: st.DataObject, history: History
) -> None:
    law = data.draw(instances(cls))
    active, beside = law.start(), shadow.begin(law)
    for seen, now in history:
        active, decision = law.step(active, seen, now)
        beside, shadowed = shadow.observed(law, beside, seen, now, law.limit(active))
        assert shadowed == decision
    assert beside.law_state == active
    assert beside.report.agreement == 1.0
    assert beside.report.diverged is None
    assert beside.report.steps == len(history)


@given(
    counts=st.lists(st.integers(0, 10**6), min_size=6, max_size=6),
    diverged=st.none() | st.builds(Divergence, st.floats(0, 1e6), st.integers(1), st.integers(1)),
    ends=st.none() | st.integers(1, 9),
)
def test_a_report_survives_json(
    counts: list[int], diverged: Divergence | None, ends: int | None
) -> None:
    steps, agreeing, *rest = counts
    report = ShadowReport(steps, agreeing, diverged, *rest, least=ends, most=ends)
    told = json.loads(json.dumps(report.to_json()))
    assert ShadowReport.from_json(told) == report
    assert told["agreement"] == report.agreement


@settings(deadline=None, max_examples=50)
@given(
    data=st.data(),
    cls=st.sampled_from(EVERY_LAW),
    holds=st.lists(st.tuples(st.floats(0.01, 3.0), st.sampled_from(OutcomeKind)), max_size=25),
)
def test_a_shadow_never_changes_what_the_active_law_decides(
    data: st.DataObject,
    cls: type[ConcurrencyLaw[Any]],
    holds: list[tuple[float, OutcomeKind]],
) -> None:
    other = data.draw(instances(cls))

    def played(observers: list[Shadow]) -> tuple[list[Decision], list[tuple[int, float]], Any]:
        async def main() -> tuple[list[Decision], list[tuple[int, float]], Any]:
            clock = asyncio.get_running_loop().time
            decisions: list[Decision] = []
            order: list[tuple[int, float]] = []
            law = Aimd(initial=2, window=3)  # type: ignore[call-arg]
            limiter = Limiter(law, clock, on_decision=decisions.append, observers=observers)

            async def client(held: float, kind: OutcomeKind) -> None:
                permit = await limiter.acquire()
                await asyncio.sleep(held)
                order.append((permit.serial, clock()))
                limiter.release(permit, outcome_kind=kind)

            async with asyncio.TaskGroup() as tasks:
                for held, kind in holds:
                    tasks.create_task(client(held, kind))
            return decisions, order, limiter.state

        return virtual_time.run(main())

    watched = Shadow(other)
    assert played([watched]) == played([])
    assert watched.report.steps == watched.report.granted == len(holds)


def answer(*, waiting: int = 0) -> Observation:
    return Observation(started_at=0.0, in_flight=4, latency=0.5, waiting=waiting)


@pytest.mark.parametrize(
    ("active", "other", "same"), [(10, 11, True), (10, 9, True), (10, 12, False), (9, 10, False)]
)
def test_limits_agree_within_a_tenth_of_the_active_one(active: int, other: int, same: bool) -> None:
    assert agree(active, other) is same


def test_the_first_divergence_is_kept_with_both_limits() -> None:
    law = fixed(10)
    state = shadow.begin(law)
    for now, limit in ((1.0, 10), (2.0, 30), (3.0, 10), (4.0, 90)):
        state, _ = shadow.observed(law, state, answer(), now, limit)
    assert state.report.diverged == Divergence(at=2.0, active=30, shadow=10)
    assert state.report.agreement == 0.5


def test_it_counts_what_it_would_have_held_and_what_it_would_have_sent() -> None:
    law = fixed(3)
    state = shadow.begin(law)
    for in_flight in (1, 2, 3, 4, 5):
        state = shadow.granted(state, in_flight)
    state, _ = shadow.observed(law, state, answer(waiting=2), 1.0, active=2)
    state, _ = shadow.observed(law, state, answer(waiting=0), 1.0, active=2)
    state, _ = shadow.observed(law, state, answer(waiting=2), 1.0, active=5)
    assert (state.report.granted, state.report.would_have_held) == (5, 2)
    assert state.report.would_have_sent == 1
    assert (state.report.least, state.report.most) == (3, 3)


def test_before_anything_was_seen_there_is_no_agreement_to_tell() -> None:
    assert Shadow(fixed(3)).report == ShadowReport(least=3, most=3)
    assert ShadowReport().agreement is None


def test_a_report_is_a_frozen_value() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Shadow(fixed(3)).report.steps = 7  # type: ignore[misc]


def test_its_decisions_are_recorded_beside_the_active_ones() -> None:
    async def main() -> None:
        found: list[Decision] = []
        beside = Shadow(Aimd(initial=2, window=1), on_decision=found.append)  # type: ignore[call-arg]
        clock = asyncio.get_running_loop().time
        limiter = Limiter(fixed(2), clock, observers=[beside])
        for _ in range(3):
            permit = await limiter.acquire()
            await asyncio.sleep(1.0)
            limiter.release(permit, outcome_kind=OutcomeKind.REJECTED)
        assert limiter.limit == 2
        assert limiter.decisions == 0
        assert beside.limit == 1
        assert [decision.law for decision in found] == ["aimd"] * 2
        assert beside.report.decisions == 2
        assert beside.report.diverged == Divergence(at=1.0, active=2, shadow=1)

    virtual_time.run(main())

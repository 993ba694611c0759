"""The limiter in virtual time grants what the one on an event loop grants, when that does."""

from __future__ import annotations

import asyncio
import heapq
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.parse import build
from loadtest.simulation.limiter import VirtualLimiter
from measurement.outcome import Outcome
from measurement.sample import Sample
from schedulers.concurrency.base import OutcomeKind, laws
from schedulers.decision import Decision
from schedulers.runtime.limiter import Limiter, Permit
from simulator import virtual_time

FIRST = 0.37
"""The share of its service after which an answer begins."""

Load = list[tuple[float, float, bool]]
"""Arrival, seconds of service, and whether the engine refuses in the end."""


def sample_of(sent: float, done: float, refused: bool) -> Sample:
    outcome = Outcome.REJECTED_503 if refused else Outcome.OK
    first = None if refused else sent + FIRST * (done - sent)
    return Sample(0, "default", 0.0, outcome, sent_at=sent, first_token_at=first, done_at=done)


def on_a_loop(load: Load, law: Any) -> tuple[list[float], list[Decision]]:
    granted, decisions = [math.nan] * len(load), list[Decision]()

    async def one(limiter: Limiter, place: int) -> None:
        loop = asyncio.get_running_loop()
        at, service, refused = load[place]
        await asyncio.sleep(at)
        permit = await limiter.acquire()
        granted[place] = loop.time()
        if not refused:
            await asyncio.sleep(FIRST * service)
            limiter.first_token(permit, FIRST * service)
            service *= 1 - FIRST
        await asyncio.sleep(service)
        sample = sample_of(granted[place], loop.time(), refused)
        limiter.release(
            permit,
            outcome_kind=OutcomeKind.REJECTED if refused else OutcomeKind.OK,
            latency=sample.service_e2e,
            ttft=sample.service_ttft,
        )

    async def all_of_them() -> None:
        limiter = Limiter(law, asyncio.get_running_loop().time, on_decision=decisions.append)
        await asyncio.gather(*(one(limiter, place) for place in range(len(load))))

    virtual_time.run(all_of_them())
    return granted, decisions


def by_itself(load: Load, law: Any) -> tuple[list[float], list[Decision]]:
    granted, decisions = [math.nan] * len(load), list[Decision]()
    events = [(at, 0, place) for place, (at, _, _) in enumerate(load)]
    permits: dict[int, Permit] = {}
    now = 0.0

    def grant(name: int, permit: Permit) -> None:
        granted[name], permits[name] = now, permit
        service, refused = load[name][1:]
        heapq.heappush(events, (now + service, 2, name))
        if not refused:
            heapq.heappush(events, (now + FIRST * service, 1, name))

    limiter = VirtualLimiter(law, grant, decisions.append, lambda: 0.0)
    heapq.heapify(events)
    while events:
        if limiter.rings_at < events[0][0]:
            now = limiter.rings_at
            limiter.ring(now)
            continue
        now, what, place = heapq.heappop(events)
        if what == 0:
            limiter.acquire(place, now)
            continue
        if what == 1:
            limiter.first_token(place, permits[place], now, FIRST * load[place][1])
            continue
        refused = load[place][2]
        kind = OutcomeKind.REJECTED if refused else OutcomeKind.OK
        limiter.release(permits[place], now, kind, sample_of(granted[place], now, refused))
    return granted, decisions


def apart(load: Load) -> Load:
    """No two things happen at one moment: which is first then is the event loop's affair."""
    return [
        (at + 0.00137 * place, service + 0.000311 * place, refused)
        for place, (at, service, refused) in enumerate(load)
    ]


loads = st.lists(
    st.tuples(st.floats(0.0, 9.0), st.floats(0.01, 5.0), st.sampled_from([False] * 9 + [True])),
    min_size=1,
    max_size=60,
).map(apart)


@pytest.mark.parametrize(
    ("name", "fields"),
    [("fixed", {"limit": 3}), ("aimd", {}), ("adaptive_bdp", {}), ("gradient2", {})],
)
@settings(max_examples=20)
@given(load=loads)
def test_both_limiters_grant_the_same_at_the_same_times(
    name: str, fields: dict[str, Any], load: Load
) -> None:
    law = build(laws.get(name), fields)
    granted, decisions = by_itself(load, law)
    expected, heard = on_a_loop(load, law)
    assert granted == pytest.approx(expected)
    assert [(each.reason, each.after) for each in decisions] == [
        (each.reason, each.after) for each in heard
    ]


def test_who_gave_up_waiting_is_passed_over() -> None:
    granted: list[int] = []
    law = build(laws.get("fixed"), {"limit": 1})
    limiter = VirtualLimiter(law, lambda name, _: granted.append(name), lambda _: None, lambda: 0.0)
    for name in (1, 2, 3):
        limiter.acquire(name, 0.0)
    limiter.leave(2, 0.0)
    limiter.release(Permit(1, 0.0, 1), 1.0, OutcomeKind.OK, None)
    assert granted == [1, 3]

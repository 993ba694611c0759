"""The admission queue: whatever is cancelled when, nothing leaks and everybody gets an answer."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulers.admission.base import laws as admission
from schedulers.concurrency.base import OutcomeKind
from schedulers.concurrency.base import laws as concurrency
from schedulers.decision import Decision, Reason
from schedulers.ordering.base import laws as ordering
from schedulers.request import Request
from schedulers.runtime.admission import AdmissionQueue, Laws, Shed
from schedulers.runtime.caps import Caps
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.limiter import Limiter
from simulator import virtual_time
from tests.schedulers.request_cases import a_request, idle


def queue_of(
    limit: int, take: Any = None, order: str = "priority", caps: Caps | None = None
) -> tuple[AdmissionQueue, Limiter]:
    clock = asyncio.get_running_loop().time
    fixed: Any = concurrency.get("fixed")
    always: Any = admission.get("always")
    ranking: Any = ordering.get(order)
    limiter = Limiter(fixed(size=limit), clock)
    laws = Laws(admission=take or always(), ordering=ranking())
    queue = AdmissionQueue(
        laws,
        limiter,
        clock=clock,
        draw=lambda: 0.5,
        caps=caps,
        signals=lambda: idle(clock(), kv_tokens=20_000),
    )
    return queue, limiter


told: list[float] = []


async def use(queue: AdmissionQueue, request: Request, seconds: float, done: list[str]) -> None:
    try:
        ticket = await queue.acquire(request)
    except Shed as shed:
        done.append(str(shed.reason))
        told.append(shed.retry_after_s)
        return
    kind = OutcomeKind.CANCELLED
    try:
        await asyncio.sleep(seconds / 2)
        queue.first_token(ticket)
        await asyncio.sleep(seconds / 2)
        kind = OutcomeKind.OK
        done.append(request.tier)
    finally:
        queue.release(ticket, outcome_kind=kind, output_tokens=50)


def test_tiers_go_in_order_as_places_come_free() -> None:
    async def main() -> list[str]:
        queue, _ = queue_of(1)
        done: list[str] = []
        tiers = ["batch", "batch", "normal", "vip"]
        await asyncio.gather(*(use(queue, a_request(tier=t), 1.0, done) for t in tiers))
        return done

    assert virtual_time.run(main()) == ["batch", "vip", "normal", "batch"]


def test_waiting_ends_at_the_tiers_time_though_nothing_else_happens() -> None:
    async def main() -> None:
        queue, _ = queue_of(1, caps=Caps(normal_ttl_s=3.0))
        await queue.acquire(a_request())
        with pytest.raises(Shed) as caught:
            await queue.acquire(a_request())
        assert caught.value.reason is Reason.EXPIRED
        assert asyncio.get_running_loop().time() == pytest.approx(3.0, abs=0.01)
        assert queue.waiting == 0

    virtual_time.run(main())


def test_a_held_tenant_goes_when_its_bucket_has_filled() -> None:
    async def main() -> None:
        bucket: Any = admission.get("token_bucket")
        take = bucket(rate=1000.0, burst=2000.0, estimate="max_tokens")
        queue, _ = queue_of(10, take)
        await queue.acquire(a_request(max_tokens=500))
        await queue.acquire(a_request(max_tokens=500))
        assert asyncio.get_running_loop().time() == pytest.approx(2.0, abs=0.01)

    virtual_time.run(main())


@settings(max_examples=60, deadline=None)
@given(
    take=st.sampled_from(["always", "token_bucket", "kv_reserve", "circuit_breaker"]),
    order=st.sampled_from(["priority", "vtc", "slack_density"]),
    callers=st.lists(
        st.tuples(
            st.sampled_from(["vip", "normal", "batch"]),
            st.sampled_from([100, 5000, 60_000]),
            st.floats(0.0, 3.0),
            st.none() | st.floats(0.0, 4.0),
        ),
        min_size=1,
        max_size=12,
    ),
)
def test_cancelled_at_any_await_nothing_leaks_and_everybody_is_answered(
    take: str, order: str, callers: list[tuple[str, int, float, float | None]]
) -> None:
    async def main() -> None:
        law: Any = admission.get(take)
        queue, limiter = queue_of(2, law(), order, Caps(total=6))
        done: list[str] = []
        tasks = []
        for tier, prompt, seconds, cancel_at in callers:
            request = a_request(tier=tier, prompt_tokens=prompt, tenant=tier, max_tokens=100)
            task = asyncio.ensure_future(use(queue, request, seconds, done))
            if cancel_at is not None:
                asyncio.get_running_loop().call_later(cancel_at, task.cancel)
            tasks.append(task)
        await asyncio.gather(*tasks, return_exceptions=True)
        faults = [t.exception() for t in tasks if not t.cancelled() and t.exception()]
        assert faults == []
        assert all(seconds >= 0.05 for seconds in told)
        assert (queue.waiting, limiter.in_flight, limiter.waiting) == (0, 0, 0)
        assert queue._waiters == {}
        ledger = getattr(queue.room.laws.admitting, "ledger", None)
        if ledger is not None:
            assert (ledger.admitted, ledger.tokens, ledger.prefill) == (0, 0.0, 0.0)
        if take == "token_bucket":
            await asyncio.sleep(1000.0)
            ticket = await queue.acquire(a_request(prompt_tokens=1))
            assert ticket.admitted.reason is Reason.ADMITTED

    virtual_time.run(main())


def test_a_caller_cancelled_in_the_same_turn_as_its_grant_gives_it_back() -> None:
    async def main() -> None:
        queue, limiter = queue_of(1)
        first = await queue.acquire(a_request())
        second = asyncio.ensure_future(queue.acquire(a_request(2)))
        third = asyncio.ensure_future(queue.acquire(a_request(3)))
        await asyncio.sleep(0)
        second.cancel()
        queue.release(first)
        await asyncio.gather(second, return_exceptions=True)
        ticket = await third
        assert limiter.in_flight == 1
        queue.release(ticket)
        assert (limiter.in_flight, queue.waiting) == (0, 0)

    virtual_time.run(main())


def test_nothing_rings_while_the_limiter_is_full_and_somebody_is_held() -> None:
    """A law that holds says when to ask again; behind a full limiter nothing could come of it."""

    async def main() -> int:
        clock = asyncio.get_running_loop().time
        saturated = admission.get("saturation")()
        limiter = Limiter(concurrency.get("fixed")(size=1), clock)
        asked = 0

        def signals() -> Any:
            nonlocal asked
            asked += 1
            return idle(clock())

        queue = AdmissionQueue(
            Laws(admission=saturated, ordering=ordering.get("fcfs")()),
            limiter,
            clock=clock,
            draw=lambda: 0.5,
            signals=signals,
        )
        first = await queue.acquire(a_request())
        others = [asyncio.ensure_future(queue.acquire(a_request())) for _ in range(2)]
        await asyncio.sleep(20.0)
        queue.release(first)
        queue.release(await others[0])
        queue.release(await others[1])
        return asked

    assert virtual_time.run(main()) == 3


def test_another_policys_laws_take_over_with_everybody_where_they_are() -> None:
    """What a law reserved goes back to it, and what is in flight counts for whoever decides."""

    async def main() -> None:
        kv_reserve = admission.get("kv_reserve")
        first = Laws(admission=kv_reserve(), ordering=ordering.get("vtc")(), version="a")
        second = Laws(
            admission=kv_reserve(max_running=5), ordering=ordering.get("fcfs")(), version="b"
        )
        queue, _ = queue_of(2, take=kv_reserve(), order="vtc")
        queue.adopt(first)
        running = [await queue.acquire(a_request()) for _ in range(2)]
        waiting = [asyncio.ensure_future(queue.acquire(a_request())) for _ in range(3)]
        await asyncio.sleep(0)
        queue.adopt(second)
        assert (queue.waiting, queue.room.laws.admitting.ledger.admitted) == (3, 2), "of the first"
        queue.first_token(running[0])
        for ticket in running:
            queue.release(ticket, output_tokens=50)
        tickets = [await waiting[0], await waiting[1]]
        assert queue.room.laws.admitting.ledger.admitted == 2
        queue.adopt(first)
        assert queue.room.laws.admitting.ledger.admitted == 2, "of the second, none of its own"
        assert queue.room.laws.admitting.ledger.lengths == {}, "it learned from none of them"
        for ticket in tickets:
            queue.release(ticket)
        queue.release(await waiting[2])
        assert (queue.waiting, queue.in_flight) == (0, 0)
        for laws in (second, first):
            queue.adopt(laws)
            ledger = queue.room.laws.admitting.ledger
            assert (ledger.admitted, ledger.tokens, ledger.prefill) == (0, 0.0, 0.0)

    virtual_time.run(main())


def test_who_is_held_for_want_of_signals_is_served_in_time_and_the_trace_says_why() -> None:
    async def main() -> tuple[list[str], list[Decision]]:
        clock = asyncio.get_running_loop().time
        lines: list[Decision] = []
        queue = AdmissionQueue(
            Laws(admission=admission.get("saturation")(), ordering=ordering.get("fcfs")()),
            None,
            clock=clock,
            draw=lambda: 0.5,
            signals=lambda: idle(-100.0),
            said=Deciding(lambda: 0.0, lines.append),
        )
        done: list[str] = []
        calls = [use(queue, a_request(tenant=str(n)), 2.0, done) for n in range(5)]
        await asyncio.gather(*calls)
        return done, lines

    done, lines = virtual_time.run(main())
    assert len(done) == 5
    assert "expired" not in done
    assert {line.reason for line in lines} == {Reason.STALE_SIGNALS}
    held = [line.at for line in lines if line.after == 0.0]
    assert len(held) >= 4
    assert max(later - sooner for sooner, later in pairwise(held)) <= 2.0

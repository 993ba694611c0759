"""Another version between two requests: nobody in the queue is lost, nobody in flight disturbed."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.parse import build
from gateway.assignment import Arm
from gateway.lane_limiter import LaneLimiter
from schedulers.concurrency.base import OutcomeKind, laws
from schedulers.runtime.limiter import Permit
from simulator.virtual_time import run
from tests.engines.raw_server import Asked, RawServer, Wire, chunk
from tests.gateway.serving import config, digest, gateway, lane, policy, slo
from tests.gateway.test_disconnect import EVENTS, TOKEN, Leaver
from tests.gateway.waiting import within

TIGHT = policy("tight", limit=1)
WIDE = policy("wide", limit=4)
LEARNING = policy("learning", law="aimd")


class Held:
    """An engine that answers when it is told to, in any order."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        wire.keep = True
        await wire.send(EVENTS, chunk(TOKEN))
        await self.go.wait()
        await wire.send(chunk(TOKEN), chunk(b""))


async def test_a_wider_version_lets_the_queue_go_and_answers_everybody() -> None:
    held = Held()
    async with RawServer(held) as engine:
        given: dict[str, Any] = {"policies": (TIGHT, WIDE)}
        async with gateway(config(engine.url, **given)) as server:
            clients = [await Leaver.ask(server) for _ in range(7)]
            await within(2, lambda: (len(engine.asked), server.lane.waiting) == (1, 6))
            server.configure(config(engine.url, active=WIDE.sha256, revision=2, **given))
            await within(2, lambda: (len(engine.asked), server.lane.waiting) == (4, 3))
            held.go.set()
            for client in clients:
                await client.reader.readuntil(b"0\r\n\r\n")
            await within(1, lambda: server.at_rest)
            for client in clients:
                await client.leave()
    assert len(server.served) == 7
    assert Counter(str(served.sample.outcome) for served in server.served) == {"incomplete": 7}
    policies = [served.place.policy.name for served in server.served]
    assert policies == ["tight"] * 7


async def test_the_law_hears_of_a_first_token_before_the_answer_ends() -> None:
    held = Held()
    async with RawServer(held) as engine, gateway(config(engine.url, policies=(WIDE,))) as server:
        client = await Leaver.ask(server)
        await within(2, lambda: server.lane.limiter.steps == 1)
        assert server.lane.limiter.in_flight == 1
        held.go.set()
        await client.reader.readuntil(b"0\r\n\r\n")
        await client.leave()
        await within(1, lambda: server.at_rest and server.lane.limiter.steps == 2)


def test_a_first_token_under_an_earlier_law_teaches_the_present_one_nothing() -> None:
    law = build(laws.get("fixed"), {"limit": 2})
    limiter = LaneLimiter("a", law, lambda: 1.0)
    permit = limiter.try_acquire()
    assert permit is not None
    limiter.adopt("b", law)
    limiter.first_token(permit)
    assert limiter.steps == 0


async def test_a_tighter_version_cuts_nobody_off_and_counts_those_in_flight() -> None:
    held = Held()
    async with RawServer(held) as engine:
        given: dict[str, Any] = {"policies": (WIDE, TIGHT)}
        async with gateway(config(engine.url, **given)) as server:
            clients = [await Leaver.ask(server) for _ in range(4)]
            await within(2, lambda: len(engine.asked) == 4)
            server.configure(config(engine.url, active=TIGHT.sha256, **given))
            clients.append(await Leaver.ask(server))
            await within(2, lambda: server.lane.waiting == 1)
            assert server.lane.limiter.in_flight == 4
            assert server.lane.limiter.limit == 1
            held.go.set()
            for client in clients:
                await client.reader.readuntil(b"0\r\n\r\n")
                await client.leave()
            await within(1, lambda: server.at_rest)


async def test_engines_tenants_bounds_and_objectives_change_with_the_revision() -> None:
    held = Held()
    held.go.set()
    async with RawServer(held) as first, RawServer(held) as second:
        async with gateway(config(first.url)) as server:
            (await Leaver.ask(server)).writer.close()
            await within(1, lambda: server.at_rest and server.served)
            changed = config(
                second.url,
                tenants=[{"name": "other", "keys": [digest("sk-acme-1")]}],
                queue={"bound": 3},
                slo=slo(ttft_ms=500),
                revision=2,
            )
            server.configure(changed)
            client = await Leaver.ask(server)
            await client.reader.readuntil(b"0\r\n\r\n")
            await client.leave()
            await within(1, lambda: len(server.served) == 2 and server.at_rest)
            assert server.lane.rules.bound == 3
        assert len(second.asked) == 1
        assert server.served[1].sample.tenant == "other"
        assert {key.slo for key in server.books.accounts} == {"", changed.slo.sha256}  # type: ignore[union-attr]


async def test_a_lane_that_is_taken_away_still_answers_who_waits_in_it() -> None:
    held = Held()
    async with RawServer(held) as engine:
        given: dict[str, Any] = {"policies": (TIGHT,)}
        async with gateway(config(engine.url, **given)) as server:
            clients = [await Leaver.ask(server) for _ in range(3)]
            await within(2, lambda: server.lane.waiting == 2)
            server.configure(config(lanes=[lane("q", engine.url)], **given))
            held.go.set()
            for client in clients:
                await client.reader.readuntil(b"0\r\n\r\n")
                await client.leave()
            await within(1, lambda: len(server.served) == 3)


async def test_in_each_block_each_lane_runs_what_was_drawn_for_it() -> None:
    now = [1_000_000.0]
    held = Held()
    held.go.set()
    canary = {
        "candidate": WIDE.sha256,
        "seed": 5,
        "starts_at": 1_000_000.0,
        "blocks": 40,
        "slot_s": 10.0,
        "washout_s": 2.0,
        "lanes": ["p", "q"],
    }
    async with RawServer(held) as one, RawServer(held) as two:
        given = config(
            lanes=[lane("p", one.url), lane("q", two.url)],
            policies=(TIGHT, WIDE),
            canary=canary,
            slo=slo(error=0),
        )
        async with gateway(given, clock=lambda: now[0]) as server:
            for block in range(12):
                for step in (1.0, 3.0, 6.0, 9.0):
                    now[0] = 1_000_000.0 + 10.0 * block + step
                    client = await Leaver.ask(server)
                    await client.reader.readuntil(b"0\r\n\r\n")
                    await client.leave()
                    await within(1, lambda: server.at_rest)
            now[0] = 1_000_000.0 + 10.0 * 41
            client = await Leaver.ask(server)
            await client.reader.readuntil(b"0\r\n\r\n")
            await client.leave()
            await within(1, lambda: server.at_rest)
    *compared, after = server.served
    assert after.place.arm is Arm.ACTIVE
    assert after.place.policy.name == "tight"
    runs: dict[tuple[int, str], str] = {}
    for served in compared:
        block = served.place.block
        assert block == int((served.sample.intended_at - 1_000_000.0) // 10)
        wide = served.place.policy.name == "wide"
        assert (served.place.arm is Arm.CANDIDATE) == wide
        assert (
            runs.setdefault((block, served.place.lane.name), served.place.arm) is served.place.arm
        )
    assert {arm for (_, name), arm in runs.items() if name == "p"} == {Arm.CANDIDATE, Arm.BASELINE}
    counts = server.books.blocks.values()
    assert sum(count.washed_out for count in counts) == 12
    assert sum(count.offered for count in counts) == 36
    assert all(count.bad["error"] == count.missed == count.offered for count in counts)


async def test_without_its_control_plane_for_three_blocks_the_baseline_serves_alone() -> None:
    now = [100.0]
    canary = {"candidate": WIDE.sha256, "seed": 5, "starts_at": 0.0, "blocks": 90, "slot_s": 10.0}
    given = config(
        lanes=[lane("p", "http://127.0.0.1:9"), lane("q", "http://127.0.0.1:9")],
        policies=(TIGHT, WIDE),
        canary=canary | {"lanes": ["p", "q"]},
    )
    async with gateway(given, clock=lambda: now[0]) as server:
        assert server.router.block == 10
        server.router.blind_since = 100.0
        for at, block in ((129.0, 12), (131.0, None)):
            now[0] = at
            server.router.settle(at)
            assert server.router.block == block
        names = {x.policy.name for x in server.router.lanes.values()}
        assert names == {"tight"}
        server.router.blind_since = None
        server.router.settle(now[0])
        assert server.router.block == 13


def test_a_law_that_comes_back_goes_on_from_where_it_was() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        law = LEARNING.law("concurrency")
        tight = TIGHT.law("concurrency")
        assert law is not None
        assert tight is not None
        limiter = LaneLimiter("a", law, loop.time)
        for _ in range(200):
            permits = [p for _ in range(limiter.limit) if (p := limiter.try_acquire())]
            await asyncio.sleep(0.01)
            for permit in permits:
                limiter.release(permit, latency=0.01)
        grown = limiter.limit
        assert grown > law.limit(law.start())
        limiter.adopt("b", tight)
        assert limiter.limit == 1
        limiter.adopt("a", law)
        assert limiter.limit == grown
        limiter.adopt("b", tight)
        limiter.forget(but=frozenset({"b"}))
        limiter.adopt("a", law)
        assert limiter.limit == law.limit(law.start())

    run(main())


STEPS = st.lists(
    st.one_of(
        st.just("ask"), st.just("leave"), st.just("cancel"), st.just("fail"), st.just("swap")
    ),
    max_size=80,
)


@given(steps=STEPS)
def test_permits_never_leak_and_the_order_is_kept_through_any_swaps(  # noqa: C901 - one branch a kind of step
    steps: list[str],
) -> None:
    async def main() -> None:  # noqa: C901
        loop = asyncio.get_running_loop()
        laws = [(p.sha256, p.law("concurrency")) for p in (TIGHT, WIDE, LEARNING)]
        version, law = laws[0]
        assert law is not None
        limiter = LaneLimiter(version, law, loop.time)
        waiting: list[asyncio.Task[Permit]] = []
        held: list[Permit] = []
        order: list[int] = []
        asked = 0

        async def enter(place: int) -> Permit:
            permit = await limiter.acquire()
            order.append(place)
            return permit

        for place, step in enumerate(steps):
            if step == "ask":
                waiting.append(asyncio.ensure_future(enter(asked)))
                asked += 1
            elif step in ("leave", "fail") and held:
                kind = OutcomeKind.OK if step == "leave" else OutcomeKind.REJECTED
                limiter.release(held.pop(0), outcome_kind=kind, latency=0.1)
            elif step == "cancel" and waiting:
                waiting.pop(place % len(waiting)).cancel()
            elif step == "swap":
                version, law = laws[place % 3]
                assert law is not None
                limiter.adopt(version, law)
            await asyncio.sleep(0.01)
            for task in [task for task in waiting if task.done()]:
                waiting.remove(task)
                held.append(task.result())
            assert limiter.in_flight == len(held)
            assert limiter.waiting == len(waiting)
            assert not waiting or limiter.in_flight >= limiter.limit
        assert order == sorted(order)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for permit in held:
            limiter.release(permit)
        assert (limiter.in_flight, limiter.waiting) == (0, 0)

    run(main())


def test_what_was_granted_under_one_law_teaches_another_nothing() -> None:
    async def main() -> None:
        clock = asyncio.get_running_loop().time
        wide, learning = WIDE.law("concurrency"), LEARNING.law("concurrency")
        assert wide is not None
        assert learning is not None
        limiter = LaneLimiter("wide", wide, clock)
        old = [limiter.try_acquire() for _ in range(3)]
        limiter.adopt("learning", learning)
        state = limiter.state
        for permit in old:
            assert permit is not None
            limiter.release(permit, outcome_kind=OutcomeKind.REJECTED, latency=1.0)
        assert limiter.state == state
        assert limiter.in_flight == 0
        with pytest.raises(RuntimeError, match="released before"):
            limiter.release(old[0])  # type: ignore[arg-type]
        own = limiter.try_acquire()
        assert own is not None
        assert own.serial == 1
        limiter.release(own, outcome_kind=OutcomeKind.REJECTED, latency=1.0)
        assert limiter.state != state

    run(main())

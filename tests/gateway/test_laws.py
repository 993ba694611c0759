"""A gateway held to a whole policy: who is taken, who is next, what goes to an engine again."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import numpy as np
import pytest

from engines.egress import EgressRules
from gateway.asked import Lengths
from gateway.config_parts import EndpointConfig, LaneConfig, QueueRules, TenantConfig
from gateway.engine import Means
from gateway.errors import Refusal
from gateway.lane import Lane, Leaving
from gateway.readings import Readings, together
from measurement.outcome import Outcome
from measurement.slo import Slo
from schedulers.concurrency.base import OutcomeKind
from schedulers.document import Policy
from schedulers.request import Request
from schedulers.signals import Signals
from simulator.virtual_time import run
from tests.engines.raw_server import Asked, RawServer, Wire, head, page, replying
from tests.gateway.serving import AUTH, CHAT, config, gateway, slo
from tests.gateway.test_disconnect import Leaver, decode, prefill
from tests.gateway.waiting import within
from tests.loadtest.simulation.policies import policy as document
from tests.simulator.serving import connected

PATH = "/v1/chat/completions"
DONE = page(
    b'{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}'
)
QUICK = {"law": "full_jitter", "base_ms": 1, "cap_ms": 1}
FULL = {"law": "fixed", "limit": 1}


def laws(**spec: Any) -> Policy:
    return Policy.parse(document(**spec))


def refusing(times: int, refusal: bytes) -> Any:
    """Refuses the first that come, and then answers."""

    async def script(asked: Asked, wire: Wire) -> None:
        wire.keep = True
        await wire.send(refusal if asked.index < times else DONE)

    return script


BUSY = page(b'{"error":{"message":"busy"}}', "429 Too Many Requests", Retry_After="0")


async def test_what_admission_sheds_is_429_with_its_reason_and_when_to_come_back() -> None:
    """A bucket of 600 tokens, of which each request reserves 400 and uses a few."""
    bucket = {
        "law": "token_bucket", "rate": 0.1, "burst": 600, "max_wait_s": 0, "estimate": "max_tokens",
    }  # fmt: skip
    async with RawServer(replying(DONE)) as engine:
        given = config(engine.url, policies=(laws(admission=bucket),))
        async with gateway(given) as server, connected(server) as client:
            bodies = [CHAT | {"max_tokens": most} for most in (200, 400, 5000, 200)]
            answers = [await client.ask("POST", PATH, body, extra=AUTH) for body in bodies]
            await within(1, lambda: len(server.served) == 4)
            (lane,) = server.router.lanes.values()
    assert [answer.status for answer in answers] == [200, 429, 429, 200]
    shed = answers[1:3]
    error = shed[-1].json()["error"]
    assert error["code"] == "tenant_budget"
    assert int(shed[-1].headers["retry-after"]) * 1000 >= error["retry_after_ms"] > 0
    outcomes = [one.sample.outcome for one in server.served]
    assert outcomes.count(Outcome.SHED) == len(shed)
    assert len(engine.asked) == 4 - len(shed)
    told = [one for one in lane.decisions if one.point == "admission"]
    assert [str(one.reason) for one in told] == ["tenant_budget"] * len(shed)


async def test_whoever_leaves_the_ranked_queue_leaves_nothing() -> None:
    given = {"policies": (laws(concurrency=FULL, ordering={"law": "vtc"}),)}
    async with RawServer(prefill) as engine, gateway(config(engine.url, **given)) as server:
        callers = [await Leaver.ask(server) for _ in range(3)]
        await within(2, lambda: server.lane.waiting == 2)
        for caller in callers:
            await caller.leave()
        await within(2, lambda: server.at_rest and len(server.served) == 3)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_refusal_goes_to_the_engine_again_and_the_caller_sees_the_answer_alone(
    streamed: bool,
) -> None:
    async with RawServer(refusing(2, BUSY)) as engine:
        given = config(engine.url, policies=(laws(retry=QUICK),))
        async with gateway(given) as server, connected(server) as client:
            answer = await client.ask("POST", PATH, CHAT | {"stream": streamed}, extra=AUTH)
            await within(1, lambda: server.served)
            assert server.at_rest
            (lane,) = server.router.lanes.values()
            windows = [window for _, window in server.books.finish(server.clock() + 5.0)]
    assert sum(window.events.sent for window in windows) == 1, "it was offered, and sent, once"
    assert sum(window.cohort.offered for window in windows) == 1
    assert (answer.status, len(engine.asked)) == (200, 3)
    (served,) = server.served
    assert served.sample.outcome.success
    assert [each.outcome for each in served.sample.attempts] == [Outcome.REJECTED_429] * 2
    assert served.sample.sent_at == served.sample.attempts[0].sent_at
    told = [str(one.reason) for one in lane.decisions if one.point == "retry"]
    assert told == ["retried", "retried"]


async def test_the_last_refusal_is_passed_on_whole_with_its_own_retry_after() -> None:
    once = QUICK | {"max_attempts": 2}
    busy = page(b'{"error":{"message":"busy"}}', "503 Service Unavailable", Retry_After="7")
    law = once | {"retry_after_cap_s": 0}
    async with RawServer(refusing(9, busy)) as engine:
        given = config(engine.url, policies=(laws(retry=law),))
        async with gateway(given) as server, connected(server) as client:
            answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
            again = await client.ask("POST", PATH, CHAT, extra=AUTH)
    assert (answer.status, answer.headers["retry-after"]) == (503, "7")
    assert answer.json() == {"error": {"message": "busy"}}
    assert (again.status, len(engine.asked)) == (503, 4)


async def test_nothing_is_sent_again_that_may_have_done_work_or_that_a_caller_has_seen() -> None:
    async def cut(asked: Asked, wire: Wire) -> None:
        if asked.index == 0:
            await wire.send(page(b"{}", "400 Bad Request"))
            wire.keep = True
        elif asked.index == 1:
            await wire.send(head(Content_Type="text/event-stream", Content_Length="99"))
            await wire.send(b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n')
        else:
            await wire.send(b"")

    async with RawServer(cut) as engine:
        given = config(engine.url, policies=(laws(retry=QUICK),))
        async with gateway(given) as server:
            for n in (1, 2, 3):
                caller = await Leaver.ask(server)
                await within(2, lambda n=n: len(server.served) == n)
                await caller.leave()
            (lane,) = server.router.lanes.values()
    assert len(engine.asked) == 3
    assert all(not one.sample.attempts for one in server.served)
    assert not [one for one in lane.decisions if one.point == "retry"], "nothing was changed"


def lane_of(policy: Policy, bound: int = 256, ttl_s: float = 30.0) -> Lane:
    endpoint = EndpointConfig("e", "http://127.0.0.1:1", "m")
    clock = asyncio.get_running_loop().time
    means = Means(clock, EgressRules.open(), np.random.default_rng(1), {})
    return Lane(LaneConfig("p", (endpoint,)), policy, QueueRules(bound, ttl_s), means)


async def call(lane: Lane, name: str, tier: str, done: list[str], seconds: float = 1.0) -> None:
    request = Request(serial=0, arrived_at=0.0, tenant=name, tier=tier, prompt_tokens=10)
    try:
        turn = await lane.enter(name, request)
    except Refusal as refusal:
        done.append(f"{name} {refusal.code}")
        return
    await asyncio.sleep(seconds)
    lane.leave(turn, Leaving(OutcomeKind.OK, seconds, seconds))
    done.append(name)


def test_tiers_go_in_order_and_a_full_queue_displaces_the_lowest() -> None:
    async def main() -> list[str]:
        lane = lane_of(laws(concurrency=FULL, ordering={"law": "priority"}), bound=3)
        done: list[str] = []
        calls = []
        for name, tier in (("0", "batch"), ("1", "batch"), ("2", "batch"), ("3", "normal"),
                           ("4", "vip")):  # fmt: skip
            calls.append(asyncio.ensure_future(call(lane, name, tier, done)))
            await asyncio.sleep(0.01)
        await asyncio.gather(*calls)
        assert (lane.waiting, lane.limiter.in_flight) == (0, 0)
        return done

    assert run(main()) == ["2 displaced", "0", "4", "3", "1"]


def test_whoever_waits_past_the_queues_time_is_told_so() -> None:
    async def main() -> list[str]:
        lane = lane_of(laws(concurrency=FULL, admission={"law": "always"}), ttl_s=2.0)
        done: list[str] = []
        await asyncio.gather(*(call(lane, str(n), "vip", done, 5.0) for n in range(2)))
        return done

    assert run(main()) == ["1 queue_timeout", "0"]


def test_policies_with_and_without_ranks_take_over_from_each_other_and_lose_nobody() -> None:
    """Each second the lane serves by another version while callers come faster than they go."""
    plain = laws(concurrency={"law": "fixed", "limit": 2})
    ranked = laws(
        concurrency=FULL, ordering={"law": "vtc"}, admission={"law": "kv_reserve"}, retry=QUICK
    )

    async def main() -> tuple[list[str], int]:
        lane = lane_of(plain)
        done: list[str] = []
        versions = itertools.cycle((ranked, plain))
        calls = []
        for n in range(40):
            calls.append(asyncio.ensure_future(call(lane, str(n), "normal", done, 0.7)))
            await asyncio.sleep(0.25)
            if n % 4 == 3:
                lane.adopt(next(versions))
        async with asyncio.timeout(60.0):
            await asyncio.gather(*calls)
        assert (lane.waiting, lane.limiter.in_flight) == (0, 0)
        lane.adopt(ranked)
        return done, lane._queue.room.laws.admitting.ledger.admitted

    done, reserved = run(main())
    assert sorted(done, key=int) == [str(n) for n in range(40)]
    assert reserved == 0, "what was reserved under a law went back to it while another decided"


def test_whoever_leaves_with_its_turn_in_hand_passes_it_on_across_a_swap_of_laws() -> None:
    """Waiting under the old law, granted and gone in one moment: the room must hear of it."""

    async def main() -> tuple[float, list[str]]:
        lane = lane_of(laws(concurrency=FULL))
        done: list[str] = []
        turn = await lane.enter("first")
        leaver = asyncio.ensure_future(call(lane, "leaver", "normal", done))
        await asyncio.sleep(0)
        lane.adopt(laws(concurrency=FULL, ordering={"law": "vtc"}))
        last = asyncio.ensure_future(call(lane, "last", "normal", done))
        await asyncio.sleep(0)
        lane.leave(turn, Leaving(OutcomeKind.OK, 1.0, 1.0))
        leaver.cancel()
        await last
        return asyncio.get_running_loop().time(), done

    assert run(main()) == (1.0, ["last"])


def test_a_shorter_time_to_wait_holds_for_those_who_wait_already() -> None:
    async def main() -> tuple[float, list[str]]:
        lane = lane_of(laws(concurrency=FULL, ordering={"law": "fcfs"}), ttl_s=60.0)
        done: list[str] = []
        turn = await lane.enter("first")
        waits = asyncio.ensure_future(call(lane, "waits", "normal", done))
        await asyncio.sleep(1.0)
        endpoint = EndpointConfig("e", "http://127.0.0.1:1", "m")
        lane.configure(LaneConfig("p", (endpoint,)), QueueRules(256, 2.0))
        await waits
        lane.leave(turn, Leaving(OutcomeKind.OK, 1.0, 1.0))
        return asyncio.get_running_loop().time(), done

    assert run(main()) == (2.0, ["waits queue_timeout"])


def test_lengths_are_told_from_bytes_by_what_engines_said_and_the_bound_from_its_field() -> None:
    lengths, tenant = Lengths(), TenantConfig("acme", "vip", ())
    text = b'{"messages":[{"content":"say \\"max_tokens\\": 7"}],"max_completion_tokens" : 64}'
    objectives = Slo.parse(slo(ttft_ms=800))
    first = lengths.request(text, tenant, objectives, 10.0)
    assert (first.tier, first.max_tokens, first.deadline_at) == ("vip", 64, 10.8)
    assert (first.prompt_tokens, first.service_s) == (round(len(text) / 4), None)
    for _ in range(20):
        lengths.first_token(1000, 0.3, 0.0)
        lengths.counted(1000, 100)
    assert lengths.request(b"x" * 500, tenant, None, 0.0).prompt_tokens == 50
    assert lengths.request(text, tenant, objectives, 0.0).service_s == pytest.approx(0.3)
    assert lengths.request(b'{"text":"\\"max_tokens\\": 7"}', tenant, None, 0.0).max_tokens is None


def test_what_a_first_token_takes_is_foretold_while_any_come_and_fades_once_none_does() -> None:
    lengths, tenant, objectives = (
        Lengths(),
        TenantConfig("acme", "vip", ()),
        Slo.parse(slo(ttft_ms=800)),
    )

    def foretold(at: float) -> float | None:
        return lengths.request(b"x" * 400, tenant, objectives, at).service_s

    assert foretold(0.0) is None
    for second in range(60):
        lengths.first_token(400, 4.0, float(second))
    assert foretold(59.5) == foretold(63.0) == pytest.approx(4.0)
    assert foretold(65.0) == pytest.approx(2.0), "what stood before the engine is worked off"
    assert foretold(67.0) == foretold(1e6) == 0.0, "so nobody is hopeless for ever"
    for second in range(200):
        lengths.first_token(400, 0.2, 1e6 + second)
    assert foretold(1e6 + 199) == pytest.approx(0.27, abs=0.1), "an old queue is forgotten"


async def test_a_first_token_is_heard_of_when_it_comes_and_not_when_its_answer_ends() -> None:
    given = {"policies": (laws(concurrency=FULL, ordering={"law": "edf"}),)}
    async with RawServer(decode) as engine, gateway(config(engine.url, **given)) as server:
        caller = await Leaver.ask(server)
        tenant, objectives = TenantConfig("acme", "vip", ()), Slo.parse(slo(ttft_ms=800))
        (lane,) = server.router.lanes.values()

        def foretold() -> float | None:
            return lane.lengths.request(b"x", tenant, objectives, server.clock()).service_s

        await within(2, lambda: foretold() is not None)
        assert not server.served, "its answer goes on"
        await caller.leave()
        await within(2, lambda: server.served)


def test_equal_engines_are_read_as_one_and_a_silent_one_leaves_nothing_known() -> None:
    one = Signals(read_at=5.0, running=3, waiting=1, kv_used=0.4, kv_tokens=1000)
    other = Signals(read_at=4.0, running=2, waiting=0, kv_used=0.7, kv_tokens=500)
    assert together([one, other]) == Signals(
        read_at=4.0, running=5, waiting=1, kv_used=0.7, kv_tokens=1500
    )
    assert together([one, Signals(read_at=4.0, running=2)]) == Signals(read_at=4.0, running=5)
    assert together([one, None]) is None
    assert together([]) is None


async def test_engines_are_asked_only_for_a_policy_that_reads_them() -> None:
    metrics = page(b"vllm:num_requests_running 3\nvllm:kv_cache_usage_perc 0.5\n")
    async with RawServer(replying(metrics)) as engine:
        endpoint = EndpointConfig("e", engine.url, "m", "vllm")
        clock = asyncio.get_running_loop().time
        means = Means(clock, EgressRules.open(), np.random.default_rng(1), {})
        plain, asking = laws(concurrency=FULL), laws(admission={"law": "saturation"})
        lane = Lane(LaneConfig("p", (endpoint,)), plain, QueueRules(), means)
        readings = Readings(means.rules, clock)
        await readings.turn([lane])
        assert (engine.connections, lane.read()) == (0, None)
        lane.adopt(asking)
        await readings.turn([lane])
        seen = lane.read()
        assert seen is not None
        assert (seen.running, seen.kv_used, seen.stale(clock())) == (3, 0.5, False)
        await readings.close()

"""What the gateway answers itself: OpenAI's shape, a code, and when to come back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engines.egress import EgressRules
from measurement.outcome import Outcome
from tests.engines.raw_server import Asked, RawServer, Wire, page, replying
from tests.gateway.serving import AUTH, CHAT, config, digest, gateway, lane, policy
from tests.gateway.test_disconnect import Leaver, prefill
from tests.gateway.waiting import within
from tests.simulator.serving import Answer, RawClient, connected

DEAD = "http://127.0.0.1:9"
PATH = "/v1/chat/completions"


def code(answer: Answer) -> str:
    error = answer.json()["error"]
    assert error.keys() >= {"message", "type", "param", "code"}
    return str(error["code"])


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "authorization: Bearer sk-acme-2\r\n",
        "authorization: Bearer\r\n",
        "authorization: Basic sk-acme-1\r\n",
        f"authorization: Bearer {digest('sk-acme-1')}\r\n",
    ],
)
@pytest.mark.parametrize("path", [PATH, "/v1/completions", "/v1/models"])
async def test_an_unknown_key_is_401(extra: str, path: str) -> None:
    method = "GET" if path == "/v1/models" else "POST"
    async with gateway(config(DEAD)) as server, connected(server) as client:
        answer = await client.ask(method, path, CHAT, extra=extra)
        assert (answer.status, code(answer)) == (401, "invalid_api_key")
        assert answer.json()["error"]["type"] == "authentication_error"
        assert server.books.refusals["invalid_api_key"] == 1
        assert not server.served


async def test_a_gateway_may_serve_without_keys_where_it_is_told_so() -> None:
    tenants = [{"name": "anyone"}]
    async with RawServer(replying(page(b"{}"))) as engine:
        given = config(engine.url, tenants=tenants, anonymous="anyone")
        async with gateway(given) as server, connected(server) as client:
            assert (await client.ask("POST", PATH, CHAT)).status == 200
            await within(1, lambda: server.served)
    assert server.served[0].sample.tenant == "anyone"


async def test_models_health_and_what_is_nowhere() -> None:
    async with gateway(config(DEAD)) as server, connected(server) as client:
        models = await client.ask("GET", "/v1/models", extra=AUTH)
        assert [model["id"] for model in models.json()["data"]] == ["m"]
        assert (await client.ask("GET", "/health")).json() == {"status": "ok"}
        assert code(await client.ask("GET", "/v1/nowhere")) == "not_found"
        assert (await client.ask("GET", PATH)).status == 405
        assert (await client.ask("POST", "/health", {})).status == 405


async def test_a_full_queue_is_429_with_when_to_come_back() -> None:
    given: dict[str, Any] = {"policies": (policy(limit=1),), "queue": {"bound": 2, "ttl_s": 30}}
    async with RawServer(prefill) as engine, gateway(config(engine.url, **given)) as server:
        held = [await Leaver.ask(server) for _ in range(3)]
        await within(2, lambda: server.lane.waiting == 2)
        async with connected(server) as client:
            answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
        assert (answer.status, code(answer)) == (429, "queue_full")
        told = answer.json()["error"]["retry_after_ms"]
        assert 1000 <= told <= int(answer.headers["retry-after"]) * 1000
        assert answer.json()["error"]["type"] == "rate_limit_error"
        assert answer.headers["x-headway-queue-depth"] == "2"
        assert answer.headers["x-headway-pressure"] == "red"
        assert answer.headers["x-headway-policy"].startswith("steady@")
        for client_ in held:
            await client_.reset()
        await within(1, lambda: server.at_rest)
    assert server.served[0].sample.outcome is Outcome.SHED
    assert server.served[0].sample.sent_at is None


async def test_who_waits_too_long_is_429_too() -> None:
    given: dict[str, Any] = {"policies": (policy(limit=1),), "queue": {"bound": 9, "ttl_s": 0.1}}
    async with RawServer(prefill) as engine, gateway(config(engine.url, **given)) as server:
        held = await Leaver.ask(server)
        await within(2, lambda: engine.asked)
        async with connected(server) as client:
            answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
        assert (answer.status, code(answer)) == (429, "queue_timeout")
        waited = float(answer.headers["x-headway-queue-ms"])
        assert waited >= 90, "its time to live counts from its arrival, a moment before it queues"
        assert "retry-after" in answer.headers
        await held.reset()
        await within(1, lambda: server.at_rest)
        assert len(engine.asked) == 1


async def test_no_endpoint_is_503_and_rests_before_it_is_tried_again() -> None:
    async with gateway(config(DEAD)) as server, connected(server) as client:
        for _ in range(3):
            answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
            assert (answer.status, code(answer)) == (503, "no_endpoint")
            assert int(answer.headers["retry-after"]) >= 1
        assert server.lane.engines[0].pool.dialled == 1
        await within(1, lambda: server.at_rest)
    assert {served.sample.outcome for served in server.served} == {Outcome.CONNECT}


async def test_another_endpoint_takes_over_where_nothing_was_sent() -> None:
    async with RawServer(replying(page(b"{}"), keep=True)) as engine:
        given = config(lanes=[lane("p", DEAD, engine.url)])
        async with gateway(given) as server, connected(server) as client:
            for _ in range(3):
                assert (await client.ask("POST", PATH, CHAT, extra=AUTH)).status == 200
            await within(1, lambda: server.at_rest)
        assert len(engine.asked) == 3


async def test_what_the_egress_rules_forbid_is_no_endpoint() -> None:
    async with gateway(config(DEAD), rules=EgressRules()) as server, connected(server) as client:
        answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
    assert (answer.status, code(answer)) == (503, "no_endpoint")


async def test_an_engine_that_closes_without_an_answer_is_502() -> None:
    async def close(asked: Asked, wire: Wire) -> None:
        wire.reset()

    async with RawServer(close) as engine, gateway(config(engine.url)) as server:
        async with connected(server) as client:
            answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
        assert (answer.status, code(answer)) == (502, "upstream_failed")
        await within(1, lambda: server.at_rest)
        assert len(engine.asked) == 1


async def test_an_engine_that_never_begins_is_504() -> None:
    timeouts = {"first_byte_s": 0.1}
    async with (
        RawServer(prefill) as engine,
        gateway(config(engine.url, timeouts=timeouts)) as server,
    ):
        async with connected(server) as client:
            answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
        assert (answer.status, code(answer)) == (504, "upstream_timeout")
        await within(10, lambda: server.at_rest)
        async with asyncio.timeout(10):
            await engine.left.wait()
    assert server.served[0].sample.outcome is Outcome.TIMEOUT_FIRST_TOKEN


async def test_bytes_that_are_no_http_are_400_from_either_side() -> None:
    async with (
        RawServer(replying(b"SSH-2.0-nothing\r\n\r\n")) as engine,
        gateway(config(engine.url)) as server,
    ):
        async with connected(server) as client:
            answer = await client.ask("POST", PATH, CHAT, extra=AUTH)
            assert (answer.status, code(answer)) == (502, "upstream_failed")
        async with connected(server) as client:
            client.writer.write(b"\x16\x03\x01 TLS?\r\n\r\n")
            answer = await client.answer()
            assert (answer.status, code(answer)) == (400, "bad_request")


async def said_to(client: RawClient, data: bytes) -> Answer:
    client.writer.write(data)
    return await client.answer()


async def test_heads_and_bodies_are_bounded() -> None:
    limits = {"body_bytes": 2000}
    async with gateway(config(DEAD, limits=limits)) as server:
        top = b"POST /v1/completions HTTP/1.1\r\nhost: g\r\n"
        async with connected(server) as client:
            answer = await said_to(client, top + b"content-length: 2001\r\n\r\n")
            assert (answer.status, code(answer)) == (413, "body_too_large")
        async with connected(server) as client:
            start = top + b"transfer-encoding: chunked\r\n\r\n"
            answer = await said_to(client, start + b"7d1\r\n" + b"x" * 2001 + b"\r\n0\r\n\r\n")
            assert (answer.status, code(answer)) == (413, "body_too_large")
        async with connected(server) as client:
            answer = await said_to(client, top + b"x: " + b"y" * 70_000)
            assert (answer.status, code(answer)) == (431, "head_too_large")
        await within(1, lambda: not server.door.connections)


async def test_a_request_that_drips_in_is_ended_in_time() -> None:
    limits = {"head_s": 0.1, "body_s": 0.1, "idle_s": 0.1}
    async with gateway(config(DEAD, limits=limits)) as server:
        async with connected(server) as client:
            answer = await said_to(client, b"POST /v1/completions HTTP/1.1\r\nhost:")
            assert (answer.status, code(answer)) == (408, "request_timeout")
        async with connected(server) as client:
            answer = await said_to(
                client, b"POST /v1/completions HTTP/1.1\r\nhost: g\r\ncontent-length: 9\r\n\r\nx"
            )
            assert answer.status == 408
        async with connected(server) as client:
            await client.ask("GET", "/health")
            async with asyncio.timeout(10):
                assert await client.reader.read() == b""
        assert not server.door.connections

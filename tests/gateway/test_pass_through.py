"""What the engine says reaches the client byte for byte, and what the client says the engine."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from gateway.pipeline import Served
from measurement.outcome import Outcome, TokenSource
from tests.engines.raw_server import (
    Asked,
    RawServer,
    Wire,
    chunk,
    head,
    in_turn,
    page,
    replying,
    stream,
)
from tests.gateway.serving import AUTH, CHAT, config, gateway, lane
from tests.gateway.waiting import within
from tests.simulator.serving import connected

FIXTURES = Path(__file__).parents[1] / "engines" / "fixtures"
STREAMS = sorted(FIXTURES.glob("*.sse"))
BYTES = {path: path.read_bytes() for path in STREAMS}
VLLM = BYTES[FIXTURES / "vllm-chat.sse"]
EVENT = {"Content_Type": "text/event-stream", "Transfer_Encoding": "chunked"}


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
async def test_a_captured_stream_arrives_byte_for_byte(path: Path, size: int) -> None:
    data = BYTES[path][: 40 * size + 500]  # enough to see every kind of cut
    pieces = [data[place : place + size] for place in range(0, len(data), size)]
    script = replying(head(**EVENT), *map(chunk, pieces), chunk(b""), keep=True)
    async with RawServer(script) as engine, gateway(config(engine.url)) as server:
        async with connected(server) as client:
            answer = await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
        assert answer.status == 200
        assert answer.body == data
        assert answer.headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions?x=1"])
async def test_the_body_and_the_target_reach_the_engine_as_they_came(path: str) -> None:
    body = b'{ "model":"m",\t"prompt": "\xc3\xa4" , "stream":false}'
    answered = page(b'{"choices":[{"text":"x"}]}')
    async with RawServer(replying(answered, keep=True)) as engine:
        async with gateway(config(engine.url)) as server, connected(server) as client:
            client.writer.write(
                f"POST {path} HTTP/1.1\r\nhost: gw\r\n{AUTH}x-mine: 1\r\nconnection: x-secret\r\n"
                f"x-secret: 2\r\nte: trailers\r\naccept-encoding: gzip\r\n"
                f"content-length: {len(body)}\r\n\r\n".encode()
                + body
            )
            answer = await client.answer()
        asked = engine.asked[0]
    assert answer.json() == {"choices": [{"text": "x"}]}
    assert asked.body == body
    assert asked.line == f"POST {path} HTTP/1.1"
    sent = asked.head.lower()
    assert "x-mine: 1" in sent
    assert "accept-encoding: identity" in sent
    assert f"host: 127.0.0.1:{engine.port}" in sent
    for dropped in ("sk-acme", "x-secret", "te: ", "gzip", "host: gw", "connection"):
        assert dropped not in sent


async def test_the_engines_own_key_comes_from_the_environment() -> None:
    lanes = [lane("p")]
    async with RawServer(replying(page(b"{}"), keep=True)) as engine:
        lanes[0]["endpoints"] = [
            {"name": "e", "base_url": engine.url, "model": "m", "api_key_env": "ENGINE_KEY"}
        ]
        given = {"environment": {"ENGINE_KEY": "sk-engine"}}
        async with gateway(config(lanes=lanes), **given) as server, connected(server) as client:
            await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)
        assert "authorization: Bearer sk-engine" in engine.asked[0].head


async def test_hop_by_hop_headers_of_the_answer_are_dropped_and_others_kept() -> None:
    answered = page(b"{}", Connection="x-hop", X_Hop="1", Keep_Alive="timeout=9", X_Kept="2")
    async with (
        RawServer(replying(answered)) as engine,
        gateway(config(engine.url)) as server,
        connected(server) as client,
    ):
        answer = await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)
    assert answer.headers["x-kept"] == "2"
    assert answer.headers["content-length"] == "2"
    assert not {"connection", "x-hop", "keep-alive"} & answer.headers.keys()


async def test_the_answer_says_what_the_gateway_did() -> None:
    async with RawServer(replying(page(b"{}"))) as engine, gateway(config(engine.url)) as server:
        async with connected(server) as client:
            headers = (await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)).headers
        assert headers["x-headway-policy"] == f"steady@{server.config.active[:12]}"
    assert headers["x-headway-queue-depth"] == "0"
    assert float(headers["x-headway-queue-ms"]) < 1000
    assert headers["x-headway-pressure"] == "green"


async def test_a_refusal_of_the_engine_is_passed_on_with_its_retry_after() -> None:
    refusal = page(b'{"error":{"message":"slow down"}}', "429 Too Many Requests", Retry_After="7")
    async with RawServer(replying(refusal, keep=True)) as engine:
        async with gateway(config(engine.url)) as server, connected(server) as client:
            answer = await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)
            await within(1, lambda: server.served)
        assert len(engine.asked) == 1
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert answer.json() == {"error": {"message": "slow down"}}
    sample = server.served[0].sample
    assert (sample.outcome, sample.retry_after) == (Outcome.REJECTED_429, 7.0)


async def test_a_compressed_answer_passes_as_it_is_and_is_counted() -> None:
    data = VLLM
    packed = gzip.compress(data)
    script = replying(stream(packed, Content_Encoding="gzip"), keep=True)
    async with (
        RawServer(script) as engine,
        gateway(config(engine.url)) as server,
        connected(server) as client,
    ):
        answer = await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
        await within(1, lambda: server.served)
    assert answer.body == packed
    assert answer.headers["content-encoding"] == "gzip"
    assert server.served[0].sample.output_tokens


async def ask_once(server: object, **extra: str) -> bytes:
    """All bytes of one answer on a connection that the server closes."""
    port = server.port  # type: ignore[attr-defined]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(CHAT).encode()
    version = extra.get("version", "1.1")
    writer.write(
        f"POST /v1/completions HTTP/{version}\r\nhost: g\r\n{AUTH}connection: close\r\n"
        f"content-length: {len(body)}\r\n\r\n".encode()
        + body
    )
    said = await reader.read()
    writer.close()
    return said


async def test_a_client_that_reads_no_chunks_gets_the_bare_bytes() -> None:
    async with (
        RawServer(replying(stream(b"data: a\n\n", b"data: b\n\n"))) as engine,
        gateway(config(engine.url)) as server,
    ):
        said = await ask_once(server, version="1.0")
    top, _, body = said.partition(b"\r\n\r\n")
    assert body == b"data: a\n\ndata: b\n\n"
    assert b"transfer-encoding" not in top
    assert b"connection: close" in top


TOKEN = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'


async def test_a_stream_that_breaks_off_ends_with_an_error_event_and_no_clean_end() -> None:
    script = replying(head(**EVENT), chunk(TOKEN))
    async with RawServer(script) as engine, gateway(config(engine.url)) as server:
        said = await ask_once(server)
        await within(1, lambda: server.served)
    assert TOKEN in said
    event = said.rsplit(b"data: ", 1)[1].split(b"\n\n")[0]
    assert json.loads(event)["error"]["code"] == "upstream_incomplete"
    assert not said.endswith(b"0\r\n\r\n")
    assert server.served[0].sample.outcome is Outcome.INCOMPLETE


async def test_half_an_event_is_not_made_whole_by_an_error() -> None:
    script = replying(head(**EVENT), chunk(TOKEN), chunk(TOKEN[:20]))
    async with RawServer(script) as engine, gateway(config(engine.url)) as server:
        said = await ask_once(server)
    assert b"error" not in said
    assert not said.endswith(b"0\r\n\r\n")


async def test_a_connection_that_went_stale_is_tried_again_before_the_first_byte() -> None:
    async def close(asked: Asked, wire: Wire) -> None:
        wire.reset()

    answered = replying(page(b"{}"), keep=True)
    script = in_turn([answered, close, answered])
    async with RawServer(script) as engine, gateway(config(engine.url)) as server:
        async with connected(server) as client:
            for _ in range(2):
                answer = await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)
                assert answer.status == 200
            await within(1, lambda: server.at_rest)
        assert (len(engine.asked), engine.connections) == (3, 2)
        assert len(server.served) == 2


async def test_connections_are_reused_on_both_sides() -> None:
    async with RawServer(replying(page(b"{}"), keep=True)) as engine:
        async with gateway(config(engine.url)) as server, connected(server) as client:
            for _ in range(5):
                await client.ask("POST", "/v1/completions", CHAT, extra=AUTH)
            await within(1, lambda: server.at_rest)
        assert engine.connections == 1


async def test_pipelined_requests_are_answered_in_order() -> None:
    async def echo(asked: Asked, wire: Wire) -> None:
        wire.keep = True
        await wire.send(page(asked.body))

    async with (
        RawServer(echo) as engine,
        gateway(config(engine.url)) as server,
        connected(server) as client,
    ):
        for place in range(5):
            client.send("POST", "/v1/completions", {"n": place}, extra=AUTH)
        answers = [await client.answer() for _ in range(5)]
    assert [answer.json()["n"] for answer in answers] == list(range(5))


async def test_a_slow_client_holds_the_engine_back_and_loses_nothing() -> None:
    sent = 0
    piece = b"data: " + b"x" * 16_000 + b"\n\n"
    total = 1500

    async def pour(asked: Asked, wire: Wire) -> None:
        nonlocal sent
        wire.writer.write(head(**EVENT))
        for _ in range(total):
            wire.writer.write(chunk(piece))
            await wire.writer.drain()
            sent += 1
        wire.writer.write(chunk(b""))

    async with (
        RawServer(pour) as engine,
        gateway(config(engine.url)) as server,
        connected(server) as client,
    ):
        client.send("POST", "/v1/completions", CHAT, extra=AUTH)
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.1)
        assert 0 < sent < total
        answer = await client.answer()
    assert answer.body == piece * total


async def test_the_sample_says_what_came_and_for_what_it_counts() -> None:
    data = VLLM
    async with (
        RawServer(replying(stream(data))) as engine,
        gateway(config(engine.url)) as server,
        connected(server) as client,
    ):
        await client.ask("POST", "/v1/chat/completions", CHAT, extra=AUTH)
        await within(1, lambda: server.served)
    served: Served = server.served[0]
    sample = served.sample
    assert (sample.tenant, sample.outcome.success) == ("acme", True)
    assert sample.token_source is TokenSource.USAGE
    assert sample.prompt_tokens
    assert sample.output_tokens
    assert sample.ttft is not None
    assert sample.hold is not None
    assert 0 <= sample.hold <= sample.ttft <= (sample.e2e or 0)
    assert str(served.place.arm) == "active"
    assert served.place.block is None

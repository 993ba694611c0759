"""Bytes on the wire: events as vLLM shapes them, connections as HTTP has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.http import connection
from tests.simulator.serving import ask, connected, serving

CHAT = {
    "messages": [{"role": "user", "content": "hello there"}],
    "max_tokens": 3,
    "ignore_eos": True,
    "stream": True,
}
STREAM = {"prompt": "hello there", "max_tokens": 3, "ignore_eos": True, "stream": True}


def fixed(event: Any) -> Any:
    """An event without what differs from answer to answer."""
    return {key: value for key, value in event.items() if key not in ("id", "created")}


async def test_a_chat_stream_begins_with_the_role_and_ends_with_a_reason_usage_and_done() -> None:
    async with serving() as server:
        body = CHAT | {"stream_options": {"include_usage": True}}
        answer = await ask(server, "POST", "/v1/chat/completions", body)
    role, first, _, last, usage, done = answer.events()
    base = {"object": "chat.completion.chunk", "model": "simulated"}
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert fixed(role) == base | {
        "choices": [
            {
                "index": 0,
                "delta": {"role": "assistant", "content": ""},
                "logprobs": None,
                "finish_reason": None,
            }
        ],
        "prompt_token_ids": None,
        "prompt_text": None,
    }
    choice = {"index": 0, "logprobs": None, "finish_reason": None, "token_ids": None}
    assert fixed(first) == base | {"choices": [choice | {"delta": first["choices"][0]["delta"]}]}
    assert list(first["choices"][0]["delta"]) == ["content"]
    assert last["choices"][0]["finish_reason"] == "length"
    assert last["choices"][0]["stop_reason"] is None
    assert fixed(usage) == base | {
        "choices": [],
        "usage": {"prompt_tokens": 2, "total_tokens": 5, "completion_tokens": 3},
        "system_fingerprint": "headway-simulated",
    }
    assert done == "[DONE]"
    assert len({event["id"] for event in (role, first, last, usage)}) == 1


async def test_continuous_usage_counts_up_with_each_chunk() -> None:
    async with serving() as server:
        body = CHAT | {"stream_options": {"continuous_usage_stats": True}}
        *events, _ = (await ask(server, "POST", "/v1/chat/completions", body)).events()
    assert [event["usage"]["completion_tokens"] for event in events] == [0, 1, 2, 3]
    assert [event["usage"]["total_tokens"] for event in events] == [2, 3, 4, 5]
    assert {event["usage"]["completion_tokens_details"] for event in events} == {None}


async def test_without_usage_asked_for_none_is_said() -> None:
    async with serving() as server:
        answer = await ask(server, "POST", "/v1/completions", STREAM)
    *events, done = answer.events()
    assert done == "[DONE]"
    assert len(events) == 3
    assert not any("usage" in event for event in events)
    assert fixed(events[0])["choices"] == [
        {
            "index": 0,
            "text": events[0]["choices"][0]["text"],
            "logprobs": None,
            "finish_reason": None,
            "stop_reason": None,
            "prompt_token_ids": None,
            "token_ids": None,
        }
    ]


async def test_a_stop_string_is_cut_off_and_named() -> None:
    async with serving() as server:
        whole = await ask(server, "POST", "/v1/completions", STREAM | {"stream": False})
        text = whole.json()["choices"][0]["text"]
        stop = text[6:9]
        cut = STREAM | {"stop": stop, "stream_options": {"include_usage": True}}
        *events, usage, _ = (await ask(server, "POST", "/v1/completions", cut)).events()
    said = "".join(event["choices"][0]["text"] for event in events)
    assert said == text[: text.find(stop)]
    assert events[-1]["choices"][0]["finish_reason"] == "stop"
    assert events[-1]["choices"][0]["stop_reason"] == stop
    assert usage["usage"]["completion_tokens"] == len(events)


async def test_one_connection_serves_many_requests() -> None:
    async with serving() as server, connected(server) as client:
        for _ in range(3):
            assert len((await client.ask("POST", "/v1/completions", STREAM)).events()) == 4
            assert (await client.ask("GET", "/health")).status == 200


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving() as server, connected(server) as client:
        client.send("POST", "/v1/completions", STREAM)
        client.send("GET", "/version")
        client.send("POST", "/v1/completions", STREAM | {"stream": False})
        assert (await client.answer()).events()[-1] == "[DONE]"
        assert "version" in (await client.answer()).json()
        assert (await client.answer()).json()["usage"]["completion_tokens"] == 3


async def test_connection_close_is_honoured() -> None:
    async with serving() as server, connected(server) as client:
        answer = await client.ask("POST", "/v1/completions", STREAM, extra="connection: close\r\n")
        assert answer.headers["connection"] == "close"
        assert await client.reader.read() == b""


async def test_http_1_0_gets_an_unchunked_stream_that_ends_with_the_connection() -> None:
    async with serving() as server, connected(server) as client:
        body = json.dumps(STREAM).encode()
        head = f"POST /v1/completions HTTP/1.0\r\ncontent-length: {len(body)}\r\n\r\n"
        client.writer.write(head.encode() + body)
        answer = await client.reader.read()
    assert b"transfer-encoding" not in answer
    assert answer.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v2", 404), ("GET", "/v1/completions", 405), ("POST", "/health", 405)],
)
async def test_a_route_that_is_not_there(method: str, path: str, status: int) -> None:
    async with serving() as server:
        answer = await ask(server, method, path)
    assert (answer.status, answer.json()["error"]["code"]) == (status, status)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"HELLO\r\n\r\n", 400, id="not HTTP"),
        pytest.param(
            b"GET / HTTP/1.1\r\nx: " + b"y" * (connection.MAX_HEAD_BYTES + 1),
            431,
            id="endless head",
        ),
        pytest.param(
            b"GET /" + b"y" * (connection.MAX_HEAD_BYTES + 1) + b" HTTP/1.1\r\n\r\n",
            431,
            id="long path",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", 413, id="announced body"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n900000\r\n" + b"y" * 0x900000,
            413,
            id="body in chunks",
        ),
    ],
)
async def test_what_is_out_of_bounds_is_refused_and_the_connection_closed(
    sent: bytes, status: int
) -> None:
    async with serving() as server, connected(server) as client:
        client.writer.write(sent)
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (status, "close")
        assert (await ask(server, "GET", "/health")).status == 200


async def test_a_body_that_is_announced_gets_its_go_ahead() -> None:
    async with serving() as server, connected(server) as client:
        body = json.dumps(STREAM | {"stream": False}).encode()
        client.writer.write(
            b"POST /v1/completions HTTP/1.1\r\nexpect: 100-continue\r\n"
            b"content-length: %d\r\n\r\n" % len(body)
        )
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.writer.write(body)
        assert (await client.answer()).status == 200

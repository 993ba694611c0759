"""Connections: kept, found stale, refused, cancelled, pinned; over every transport."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket

import pytest

from engines.client import EngineClient
from engines.egress import EgressDenied
from engines.request import CompletionRequest, Timeouts
from engines.target import Target
from engines.transport.aiohttp_stream import AiohttpTransport
from engines.transport.base import Transport
from engines.transport.dial import LEAST_ROOM, make_room
from measurement.outcome import Outcome
from tests.engines.conftest import QUICK, Ask
from tests.engines.raw_server import (
    Asked,
    RawServer,
    Script,
    Wire,
    chunk,
    head,
    in_turn,
    page,
    replying,
    stream,
)
from tests.engines.sayings import HELLO, ROLE, captured, delta

STREAM = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
GOOD = stream(HELLO)
LAST_CHUNK = b"0\r\n\r\n"


async def closing(asked: Asked, wire: Wire) -> None:
    """Say nothing and close: what a server does to a connection that it had given up."""


async def test_one_connection_serves_one_request_after_another(ask: Ask) -> None:
    async with RawServer(replying(GOOD, keep=True)) as server:
        outcomes = [(await ask(server.url)).outcome for _ in range(5)]
    assert (outcomes, server.connections) == ([Outcome.OK] * 5, 1)


async def test_as_many_connections_as_requests_at_once_and_all_used_again(ask: Ask) -> None:
    async with RawServer(replying(GOOD, keep=True)) as server:
        for _ in range(3):
            await asyncio.gather(*(ask(server.url) for _ in range(20)))
    assert server.connections == 20


async def test_a_message_that_ends_long_after_done_makes_no_answer_late(ask: Ask) -> None:
    """llama.cpp's other habit: the last HTTP chunk comes tens of milliseconds behind [DONE]."""
    go_on = asyncio.Event()

    async def slow_end(asked: Asked, wire: Wire) -> None:
        await wire.send(GOOD.removesuffix(LAST_CHUNK))
        if asked.index == 0:
            await go_on.wait()
        await wire.send(LAST_CHUNK)
        wire.keep = True

    async with RawServer(slow_end) as server:
        async with asyncio.timeout(30.0):
            first = await ask(server.url)
        assert first.outcome is Outcome.OK, "answered while the message is still open"
        go_on.set()
        for _ in range(20):
            await asyncio.sleep(0.01)
        again = [(await ask(server.url)).outcome]
        assert (again, server.connections) == ([Outcome.OK], 1), "then used again"


async def test_a_message_that_never_ends_after_done_costs_only_its_connection(ask: Ask) -> None:
    async def no_end(asked: Asked, wire: Wire) -> None:
        await wire.send(GOOD.removesuffix(LAST_CHUNK))
        await wire.stall()

    async with RawServer(no_end) as server:
        assert (await ask(server.url)).outcome is Outcome.OK
        async with asyncio.timeout(30.0):
            await server.left.wait()


async def test_an_error_answer_leaves_the_connection_in_use(ask: Ask) -> None:
    refused = replying(page(b"{}", "429 Too Many"), keep=True)
    async with RawServer(in_turn([refused, replying(GOOD)])) as server:
        assert (await ask(server.url)).outcome is Outcome.REJECTED_429
        assert (await ask(server.url)).outcome is Outcome.OK
    assert server.connections == 1


async def test_a_server_that_says_keep_alive_and_closes_costs_no_failure(ask: Ask) -> None:
    """llama.cpp's habit: Keep-Alive in the head, FIN behind each stream."""
    reply = stream(captured("llamacpp-chat.sse"), Keep_Alive="timeout=5, max=100")
    async with RawServer(replying(reply)) as server:
        for _ in range(30):
            answer = await ask(server.url)
            assert (answer.outcome, answer.output_tokens) == (Outcome.TRUNCATED, 8)
    assert len(server.asked) <= server.connections


async def test_a_stale_connection_is_retried_once_on_a_new_one(ask: Ask) -> None:
    scripts = [replying(GOOD, keep=True), closing, replying(GOOD)]
    async with RawServer(in_turn(scripts)) as server:
        assert (await ask(server.url)).outcome is Outcome.OK
        answer = await ask(server.url)
    assert answer.outcome is Outcome.OK
    assert [asked.connection for asked in server.asked] == [1, 1, 2]


async def test_a_retry_keeps_the_first_send_as_its_start(ask: Ask) -> None:
    sent: list[float] = []
    scripts = [replying(GOOD, keep=True), closing, replying(GOOD)]
    async with RawServer(in_turn(scripts)) as server:
        await ask(server.url)
        client = ask.client(server.url)
        request = CompletionRequest("Hi", 8)
        answer = await client.complete(request, QUICK, on_sent=sent.append)
    assert sent == [answer.sent_at]


async def test_there_is_no_second_retry(ask: Ask) -> None:
    async with RawServer(in_turn([replying(GOOD, keep=True), closing, closing])) as server:
        await ask(server.url)
        assert (await ask(server.url)).outcome is Outcome.INCOMPLETE
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(replying(STREAM), id="a head"),
        pytest.param(replying(b"HTTP/1.1 2"), id="a part of a head"),
        pytest.param(replying(STREAM, chunk(ROLE)), id="a role"),
    ],
)
async def test_a_request_that_got_any_answer_is_not_sent_again(
    ask: Ask, second: Script, transport: Transport, request: pytest.FixtureRequest
) -> None:
    # aiohttp does not say that a part of a head came: to it the connection was stale.
    stale = isinstance(transport, AiohttpTransport) and "a part of" in request.node.name
    async with RawServer(in_turn([replying(GOOD, keep=True), second, second])) as server:
        await ask(server.url)
        assert (await ask(server.url)).outcome is Outcome.INCOMPLETE
    assert len(server.asked) == (3 if stale else 2)


async def test_a_new_connection_is_not_retried(ask: Ask) -> None:
    async with RawServer(in_turn([closing])) as server:
        assert (await ask(server.url)).outcome is Outcome.INCOMPLETE
    assert len(server.asked) == 1


@pytest.mark.parametrize("extra", [b"HTTP/1.1 200 OK\r\n\r\n", b"rubbish"])
async def test_bytes_behind_an_answer_spoil_the_connection_and_not_the_answer(
    ask: Ask, extra: bytes, transport: Transport
) -> None:
    # aiohttp drops an answer that has rubbish behind it in one segment; it says so at least.
    drops = isinstance(transport, AiohttpTransport) and extra == b"rubbish"
    scripts = [replying(GOOD + extra, keep=True), replying(GOOD)]
    async with RawServer(in_turn(scripts)) as server:
        first = await ask(server.url)
        assert first.outcome.success is not drops, first
        assert (await ask(server.url)).outcome is Outcome.OK
    assert server.connections == 2


@pytest.mark.parametrize("pieces", [[], [STREAM], [STREAM, chunk(ROLE + delta(content="Hi"))]])
async def test_cancelling_closes_the_connection_in_every_phase(
    ask: Ask, pieces: list[bytes]
) -> None:
    reached = asyncio.Event()

    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(*pieces)
        reached.set()
        await wire.stall()

    async with RawServer(script) as server:
        task = asyncio.create_task(ask(server.url))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(10.0):
            await server.left.wait()


async def test_a_port_where_nobody_listens(ask: Ask) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        answer = await ask(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert answer.outcome is Outcome.CONNECT
    assert "127.0.0.1" in answer.error
    assert answer.sent_at is None
    assert answer.done_at > 0


async def test_a_client_without_a_free_descriptor_blames_itself_and_not_the_engine(
    ask: Ask,
) -> None:
    async with RawServer(replying(GOOD)) as server:
        await ask.client(server.url).prepare()
        free = os.dup(0)
        os.close(free)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            answer = await ask(server.url)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert answer.outcome is Outcome.DROPPED
        assert "ulimit -n" in answer.error
        assert server.connections == 0


async def test_a_dead_port_whose_number_the_client_gets_is_refused_and_not_heard_as_an_echo(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    class OfThatPort(socket.socket):
        """As once in some ten thousand dials: the system picks the port that is dialled."""

        def setblocking(self, flag: bool, /) -> None:
            super().setblocking(flag)
            if not self.getsockname()[1]:
                self.bind(("127.0.0.1", port))

    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", OfThatPort)
        answer = await ask(f"http://127.0.0.1:{port}")
    assert answer.outcome is Outcome.CONNECT
    assert "refused" in answer.error
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))


def test_a_socket_has_room_for_what_comes_between_two_readings() -> None:
    def room(sock: socket.socket) -> int:
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    with socket.socket() as tiny, socket.socket() as usual:
        tiny.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        before = room(usual)
        assert room(tiny) < LEAST_ROOM <= before
        for sock in (tiny, usual):
            make_room(sock)
        assert room(tiny) >= LEAST_ROOM
        assert room(usual) == before, "what grows by itself keeps growing"


async def test_a_name_that_does_not_exist(ask: Ask) -> None:
    answer = await ask("http://no-such-host.invalid:8000")
    assert answer.outcome is Outcome.DNS
    assert "no-such-host.invalid" in answer.error


async def test_a_connection_that_is_never_made(ask: Ask) -> None:
    """A listener with a full backlog takes no more connections."""
    with socket.socket() as deaf, contextlib.ExitStack() as queue:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(deaf.getsockname())
        answer = await ask(f"http://127.0.0.1:{deaf.getsockname()[1]}", Timeouts(connect=0.05))
    assert answer.outcome is Outcome.TIMEOUT_CONNECT
    assert "0.05 s" in answer.error


async def test_a_total_time_out_shorter_than_the_connection_is_named_so(ask: Ask) -> None:
    with socket.socket() as deaf, contextlib.ExitStack() as queue:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        assert (await ask(url, Timeouts(total=0.05))).outcome is Outcome.TIMEOUT_TOTAL


async def test_a_forbidden_target_is_told_ahead_and_never_called(transport: Transport) -> None:
    client = EngineClient(Target("http://169.254.169.254", "m"), transport)
    with pytest.raises(EgressDenied, match="cloud metadata"):
        await client.prepare()
    answer = await client.complete(CompletionRequest("Hi", 8), QUICK)
    assert answer.outcome is Outcome.CONNECT
    assert "cloud metadata" in answer.error


async def test_no_proxy_is_taken_from_the_environment(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with RawServer(replying(GOOD)) as server:
        assert (await ask(server.url)).outcome is Outcome.OK


async def test_the_request_on_the_wire(ask: Ask) -> None:
    async with RawServer(replying(GOOD)) as server:
        await ask(f"{server.url}/v1/")
    asked = server.asked[0]
    assert asked.line == "POST /v1/chat/completions HTTP/1.1"
    lines = asked.head.lower().split("\r\n")
    assert f"host: 127.0.0.1:{server.port}" in lines
    assert "accept-encoding: identity" in lines
    assert "content-type: application/json" in lines
    assert not any(line.startswith("authorization") for line in lines)

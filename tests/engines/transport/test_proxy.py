"""Calls through an HTTP proxy: only one that was asked for, and the same results as without it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from documents.problem import DocumentError
from engines.answer import Answer
from engines.egress import EgressDenied, EgressRules
from engines.proxy import Proxy
from engines.transport.aiohttp_stream import AiohttpTransport
from engines.transport.httptools_stream import HttptoolsTransport
from measurement.outcome import Outcome
from tests.engines.conftest import QUICK, TRANSPORTS, Ask
from tests.engines.raw_server import RawServer, replying, stream
from tests.engines.sayings import HELLO
from tests.engines.transport.test_tls import certificate, serving

GOOD = stream(HELLO)
_OVER = (OSError, asyncio.IncompleteReadError, asyncio.CancelledError)


class LoopbackProxy:
    """Tunnels CONNECT and carries absolute-form, or gives one answer to everything."""

    def __init__(self, answer: bytes = b"") -> None:
        self.lines: list[str] = []
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> LoopbackProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def rules(self) -> EgressRules:
        return replace(EgressRules.loopback(), proxy=Proxy("127.0.0.1", self.port))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(*_OVER), contextlib.closing(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            line = head.partition(b"\r\n")[0].decode()
            self.lines.append(line)
            if self._answer:
                writer.write(self._answer)
                await writer.drain()
                return
            method, target, _ = line.split(" ")
            where = target if method == "CONNECT" else urlsplit(target).netloc
            host, _, port = where.rpartition(":")
            away, back = await asyncio.open_connection(host, int(port))
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                back.write(head)
            with contextlib.closing(back):
                async with asyncio.TaskGroup() as both:
                    both.create_task(_pipe(reader, back))
                    both.create_task(_pipe(away, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()
    writer.close()


@pytest.fixture(params=sorted(TRANSPORTS))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


async def asked(name: str, rules: EgressRules, url: str, times: int = 1) -> list[Answer]:
    transport = TRANSPORTS[name](rules)
    try:
        return [await Ask(transport)(url) for _ in range(times)]
    finally:
        await transport.close()


async def test_plain_http_is_asked_by_its_whole_address_over_connections_that_stay(
    name: str,
) -> None:
    script = replying(GOOD, keep=True)
    async with RawServer(script) as server, LoopbackProxy() as proxy:
        answers = await asked(name, proxy.rules, server.url, times=2)

        assert [(one.outcome, one.chunks) for one in answers] == [(Outcome.OK, 2)] * 2
        assert proxy.lines == [f"POST {server.url}/v1/chat/completions HTTP/1.1"]
        assert (server.connections, len(server.asked)) == (1, 2)
        assert all(f"Host: 127.0.0.1:{server.port}" in request.head for request in server.asked)


@pytest.mark.parametrize("kind", [HttptoolsTransport, AiohttpTransport])
async def test_tls_goes_through_a_tunnel_and_the_target_proves_itself(
    kind: type[HttptoolsTransport] | type[AiohttpTransport], tmp_path: Path
) -> None:
    path = certificate(tmp_path, "127.0.0.1")
    async with RawServer(replying(GOOD), tls=serving(path)) as server, LoopbackProxy() as proxy:
        trusted = kind(proxy.rules, ssl_context=ssl.create_default_context(cafile=path))
        answer = await Ask(trusted)(server.url)
        await trusted.close()
        doubting = kind(proxy.rules, ssl_context=ssl.create_default_context())
        refused = await Ask(doubting)(server.url)
        await doubting.close()

        assert (answer.outcome, answer.chunks) == (Outcome.OK, 2)
        assert refused.outcome is Outcome.TLS
        assert proxy.lines == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"] * 2
        assert server.asked[0].line == "POST /v1/chat/completions HTTP/1.1"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407 Proxy Authentication"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "refuses 127.0.0.1"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "no HTTP/1.1 answer"),
    ],
)
async def test_a_proxy_that_gives_no_tunnel_is_a_failure_to_connect(
    answer: bytes, why: str
) -> None:
    async with LoopbackProxy(answer) as proxy:
        (found,) = await asked("protocol", proxy.rules, "https://127.0.0.1:29999")
        (other,) = await asked("aiohttp", proxy.rules, "https://127.0.0.1:29999")

    assert found.outcome is Outcome.CONNECT
    assert why in found.error
    assert not other.outcome.success


async def test_a_proxy_that_is_not_there_is_a_failure_to_connect(name: str) -> None:
    async with LoopbackProxy() as proxy:
        rules = proxy.rules
    (answer,) = await asked(name, rules, "http://127.0.0.1:29999")

    assert answer.outcome is Outcome.CONNECT


async def test_a_proxy_that_says_nothing_is_waited_for_no_longer_than_for_a_connection(
    name: str,
) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(*_OVER):
            while await reader.read(4096):
                pass

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rules = replace(EgressRules.loopback(), proxy=Proxy("127.0.0.1", port))
    transport = TRANSPORTS[name](rules)
    answer = await Ask(transport)("https://127.0.0.1:29999", replace(QUICK, connect=0.1))
    await transport.close()
    server.close()

    assert answer.outcome is Outcome.TIMEOUT_CONNECT


async def test_a_proxy_named_by_the_environment_is_not_used(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RawServer(replying(GOOD)) as server, LoopbackProxy() as proxy:
        for variable in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        (answer,) = await asked(name, EgressRules.loopback(), server.url)

        assert answer.outcome is Outcome.OK
        assert proxy.lines == []


async def test_a_proxy_is_no_way_to_what_may_never_be_called(name: str) -> None:
    async with LoopbackProxy() as proxy:
        transport = TRANSPORTS[name](replace(proxy.rules, any_address=True))
        with pytest.raises(EgressDenied, match="metadata"):
            await transport.prepare("http://169.254.169.254:8000/v1")
        await transport.close()


async def test_a_name_is_the_proxys_to_resolve(name: str) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    async with LoopbackProxy(answer) as proxy:
        await asked(name, proxy.rules, "http://engine.invalid:8000")

        assert proxy.lines == ["POST http://engine.invalid:8000/v1/chat/completions HTTP/1.1"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://proxy:3128", "behind TLS"),
        ("socks5://proxy:1080", "SOCKS"),
        ("proxy:3128", "http://host:port"),
        ("http://user:secret@proxy:3128", "credential"),
        ("http://user:secret@proxy:99999", "credential"),
        ("user:secret@proxy:3128", "credential"),
        ("http://us[er:secret@proxy", "credential"),
        ("http://user:secret/@proxy", "credential"),
        ("http://proxy:0", "a port from 1"),
        ("http://pro xy:80", "a host's name"),
        ("http://proxy:3128/path", "without a path"),
        ("http://proxy:99999", "http://host:port"),
    ],
)
def test_what_is_no_proxy_is_named_with_what_would_be_one(text: str, why: str) -> None:
    with pytest.raises(DocumentError, match=why) as raised:
        Proxy.parse(text)
    assert "secret" not in str(raised.value)


def test_a_proxy_has_the_usual_port_unless_told() -> None:
    assert Proxy.parse("http://proxy.internal") == Proxy("proxy.internal", 3128)
    assert Proxy.parse("http://[::1]:8080/").url == "http://[::1]:8080"

"""A small GET: any status is a page, and nothing is larger or slower than it may be."""

from __future__ import annotations

import pytest

from engines.egress import EgressDenied
from engines.http_get import GetFailed, get
from engines.transport.base import Transport
from measurement.outcome import Outcome
from tests.engines.raw_server import Asked, RawServer, Wire, head, page, replying


async def failed(transport: Transport, url: str, *, within: float = 5.0) -> GetFailed:
    with pytest.raises(GetFailed) as caught:
        await get(url, transport, within=within, limit=1000)
    return caught.value


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found", "500 Oops", "302 Found"])
async def test_any_status_is_a_page(transport: Transport, status: str) -> None:
    async with RawServer(replying(page(b"h\xffi", status, X_A="b"))) as server:
        found = await get(f"{server.url}/metrics?a=b", transport, within=5.0, headers=(("X", "y"),))
    assert (found.status, found.body, found.text) == (int(status[:3]), b"h\xffi", "h\ufffdi")
    assert found.headers["x-a"] == "b"
    assert server.asked[0].line == "GET /metrics?a=b HTTP/1.1"
    assert "X: y" in server.asked[0].head
    assert len(server.asked) == 1


async def test_a_page_over_the_limit_is_given_up(transport: Transport) -> None:
    async with RawServer(replying(page(b"x" * 1001))) as server:
        error = await failed(transport, server.url)
    assert error.outcome is Outcome.MALFORMED
    assert "over 1,000 bytes" in str(error)


async def test_a_page_of_just_the_limit_is_fine(transport: Transport) -> None:
    async with RawServer(replying(page(b"x" * 1000))) as server:
        assert len((await get(server.url, transport, within=5.0, limit=1000)).body) == 1000


async def test_a_page_that_does_not_come_in_time(transport: Transport) -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(head(Content_Length="5"), b"slo")
        await wire.stall()

    async with RawServer(script) as server:
        await transport.prepare(server.url)  # its address is no part of what is late here
        error = await failed(transport, server.url, within=0.3)
    assert error.outcome is Outcome.TIMEOUT_TOTAL


async def test_a_page_that_is_cut(transport: Transport) -> None:
    async with RawServer(replying(head(Content_Length="5") + b"cu")) as server:
        assert (await failed(transport, server.url)).outcome is Outcome.INCOMPLETE


async def test_a_forbidden_url_is_denied_and_not_asked(transport: Transport) -> None:
    with pytest.raises(EgressDenied):
        await get("http://10.0.0.1:8000/metrics", transport, within=1.0)

"""A small GET: bounded in size and time, through the egress rules, never following a redirect."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from engines.transport.base import Clock, Exchange, HttpRequest, Transport
from measurement.outcome import Outcome

LIMIT = 4 * 1024 * 1024


class GetFailed(Exception):  # noqa: N818 - what it says is that the GET failed
    """No page; ``outcome`` says at which step."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        self.outcome = outcome
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Page:
    """What was answered, with the time at which its last byte came."""

    at: float
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text; bytes that are no UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")


async def fetch(
    request: HttpRequest,
    transport: Transport,
    *,
    within: float,
    limit: int = LIMIT,
    clock: Clock = time.monotonic,
) -> Page:
    """One page, or GetFailed; EgressDenied when the rules forbid the URL.

    Any status is a page. ``within`` seconds cover everything from the name to the last byte.
    """
    try:
        async with asyncio.timeout(within):
            await transport.prepare(request.url)
    except TimeoutError:
        raise GetFailed(Outcome.TIMEOUT_CONNECT, f"no address within {within:g} s") from None
    page = _Collector(limit)
    exchange = page.exchange = Exchange(request, page, clock, connect_within=within)
    loop = asyncio.get_running_loop()
    reason = f"no answer within {within:g} s"
    timer = loop.call_later(within, exchange.end, Outcome.TIMEOUT_TOTAL, reason)
    try:
        ending = await transport.exchange(exchange)
    finally:
        timer.cancel()
        del page.exchange  # each holds the other: both are freed now, without the collector
    if ending.outcome is not None or page.status is None:
        raise GetFailed(ending.outcome or Outcome.INCOMPLETE, ending.reason)
    return Page(ending.at, page.status, page.headers, bytes(page.body))


async def get(
    url: str,
    transport: Transport,
    *,
    within: float,
    headers: tuple[tuple[str, str], ...] = (),
    limit: int = LIMIT,
    clock: Clock = time.monotonic,
) -> Page:
    """``fetch`` of a plain GET."""
    request = HttpRequest("GET", url, headers)
    return await fetch(request, transport, within=within, limit=limit, clock=clock)


class _Collector:
    """Keeps a body up to the limit; one byte more ends the exchange."""

    exchange: Exchange

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.body = bytearray()

    def on_sent(self, at: float) -> None:
        """Nothing to note: a page has no latency of its own."""

    def on_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers

    def on_body(self, at: float, data: bytes) -> None:
        self.body += data
        if len(self.body) > self._limit:
            reason = f"the page is over {self._limit:,} bytes"
            self.exchange.end(Outcome.MALFORMED, reason, at=at)

"""The four time-outs when the process itself stands still, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from engines.request import Timeouts
from engines.transport.base import Ending, Exchange, HttpRequest, Sink
from engines.transport.patient_timeout import GRACE, LATE
from engines.watch import Watch
from measurement.outcome import Outcome
from simulator import virtual_time


class Stream:
    """What has been read of a call so far."""

    def __init__(self) -> None:
        self.sent_at: float | None = None
        self.first_token_at: float | None = None
        self.event_at: float | None = None
        self.over_at: float | None = None


class NoSink(Sink):
    """Nothing is carried here."""


async def stopped(*, seconds: float, read: bool) -> Ending | None:
    """A stream of ten tokens a second that then waits for the next one, and whose client is
    stopped 0.1 s before that would be too long; whether what came meanwhile is then ``read``."""
    loop, stood, stream = asyncio.get_running_loop(), 0.0, Stream()

    def clock() -> float:
        return loop.time() + stood

    exchange = Exchange(HttpRequest("POST", "http://engine"), NoSink(), clock, connect_within=1.0)
    watch = Watch(exchange, stream, Timeouts(idle=0.5, total=20.0), stream=True)
    stream.sent_at = stream.first_token_at = clock()
    began = clock()
    watch.sent()
    for _ in range(20):
        stream.event_at = clock()
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.3)
    stood = seconds
    await asyncio.sleep(0.15)  # overdue timers come first, then the sockets' bytes
    if read:
        stream.event_at = clock()
    await asyncio.sleep(0.2)
    ended = exchange.ended.result() if exchange.ended.done() else None
    watch.end()
    if ended is None:
        return None
    return Ending(ended.at - began, ended.outcome, ended.reason)


@pytest.mark.parametrize("seconds", [2 * LATE, 1.0, 10.0])
def test_a_stream_whose_tokens_came_while_we_stood_still_is_not_called_silent(
    seconds: float,
) -> None:
    ended = virtual_time.run(stopped(seconds=seconds, read=True))
    assert ended is None


@pytest.mark.parametrize("seconds", [0.0, 2 * LATE, 1.0])
def test_a_silent_stream_still_ends_soon_after_we_stood_still(seconds: float) -> None:
    ended = virtual_time.run(stopped(seconds=seconds, read=False))
    assert ended is not None
    assert ended.outcome is Outcome.TIMEOUT_IDLE
    assert ended.at == pytest.approx(2.4 + seconds + (GRACE if seconds else 0.0), abs=0.01)

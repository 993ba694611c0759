"""Streams as they come in time: stamps, cuts, stalls and the four time-outs."""

from __future__ import annotations

import asyncio

import pytest

from engines.request import Timeouts
from measurement.outcome import Outcome, TokenSource
from tests.engines.conftest import Ask
from tests.engines.raw_server import Asked, RawServer, Wire, chunk, head, replying
from tests.engines.sayings import DONE, HELLO, ROLE, STOP, delta, event, usage

STREAM = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
HI = ROLE + delta(content="Hi")
BROKEN = b'data: {"choices": nonsense}\n\n'
SOON = Timeouts(idle=5.0)
ERROR = event({"error": {"message": "CUDA out of memory", "code": 500}})


async def test_a_reset_in_mid_stream_is_incomplete_and_keeps_the_tokens(ask: Ask) -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(STREAM, chunk(HI), chunk(delta(content="!")))
        wire.reset()

    async with RawServer(script) as server:
        answer = await ask(server.url)
    assert answer.outcome is Outcome.INCOMPLETE
    assert (answer.chunks, answer.output_tokens) == (2, 2)
    assert answer.token_source is TokenSource.CHUNKS
    assert answer.first_token_at is not None


async def test_a_success_has_all_its_times_in_order(ask: Ask) -> None:
    async with RawServer(replying(STREAM, chunk(HI), chunk(HELLO), chunk(b""))) as server:
        answer = await ask(server.url)
    times = [answer.sent_at, answer.first_token_at, answer.last_token_at, answer.done_at]
    assert times == sorted(t for t in times if t is not None)
    assert answer.first_answer_at == answer.first_token_at
    assert len(answer.gaps) == answer.chunks - 1 == 2
    assert sum(answer.gaps) == pytest.approx(times[2] - times[1])  # type: ignore[operator]
    assert (answer.prompt_tokens, answer.output_tokens, answer.status) == (3, 2, 200)


async def test_the_stamp_is_the_arrival_of_the_token_and_not_of_the_role(ask: Ask) -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(STREAM, chunk(ROLE))
        await asyncio.sleep(0.06)
        await wire.send(chunk(HELLO), chunk(b""))

    async with RawServer(script) as server:
        answer = await ask(server.url)
    assert answer.first_token_at is not None
    assert answer.sent_at is not None
    assert answer.first_token_at - answer.sent_at >= 0.06


STALLS: dict[str, tuple[list[bytes], Timeouts, Outcome]] = {
    "no head": ([], Timeouts(first_token=0.05), Outcome.TIMEOUT_FIRST_TOKEN),
    "only a role": ([STREAM, chunk(ROLE)], Timeouts(first_token=0.05), Outcome.TIMEOUT_FIRST_TOKEN),
    "after a token": ([STREAM, chunk(HI)], Timeouts(idle=0.05), Outcome.TIMEOUT_IDLE),
    "total": ([STREAM, chunk(HI)], Timeouts(total=0.05), Outcome.TIMEOUT_TOTAL),
    "held open behind [DONE]": ([STREAM, chunk(HELLO)], Timeouts(), Outcome.OK),
    "held open behind broken JSON": ([STREAM, chunk(HI), chunk(BROKEN)], SOON, Outcome.MALFORMED),
    "held open behind an error": ([STREAM, chunk(ERROR)], Timeouts(), Outcome.IN_BAND_ERROR),
}


@pytest.mark.parametrize("name", STALLS)
async def test_a_stall_ends_by_its_own_time_out_and_closes_the_connection(
    ask: Ask, name: str
) -> None:
    pieces, timeouts, outcome = STALLS[name]

    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(*pieces)
        await wire.stall()

    async with RawServer(script) as server:
        answer = await ask(server.url, timeouts)
        await server.left.wait()
    assert answer.outcome is outcome
    assert answer.first_token_at is None or answer.chunks > 0


async def test_keep_alive_comments_do_not_hide_an_idle_stream(ask: Ask) -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(STREAM, chunk(HI))
        while not wire.gone:
            await wire.send(chunk(b": ping\n\n"))
            await asyncio.sleep(0.01)

    async with RawServer(script) as server:
        answer = await ask(server.url, Timeouts(idle=0.08))
    assert answer.outcome is Outcome.TIMEOUT_IDLE


async def test_a_stream_that_keeps_coming_outlives_the_idle_time_out(ask: Ask) -> None:
    async def script(asked: Asked, wire: Wire) -> None:
        await wire.send(STREAM)
        for _ in range(8):
            await wire.send(chunk(delta(content="a")))
            await asyncio.sleep(0.1)
        await wire.send(chunk(STOP + usage(1, 8) + DONE), chunk(b""))

    async with RawServer(script) as server:
        answer = await ask(server.url, Timeouts(first_token=30.0, idle=0.5))
    assert (answer.outcome, answer.chunks) == (Outcome.OK, 8)

"""Reads that wait to be parsed together give the answer that reads parsed one by one give."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import count

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines.answer import Answer
from engines.client import EngineClient
from engines.request import CompletionRequest, Timeouts
from engines.target import Target
from engines.transport.base import Ending, Exchange
from engines.transport.connection import Connection
from engines.transport.held import BACK, FRONT, MOST_HELD, is_like, may_wait
from measurement.outcome import Outcome
from tests.engines.raw_server import chunk, head
from tests.engines.sayings import DONE, HELLO, ROLE, STOP, captured, counts, delta, event, usage

STREAM = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")
ERROR = event({"error": {"message": "CUDA out of memory"}})
LATE_ERROR = delta(content="a").replace(b', "choices"', b', "error": {"code": 502}, "choices"')
"""One that begins and ends as a token does."""
WRONG = b"5\r\n" + delta(content="a") + b"\r\n"
"""A chunk whose length is not what it says, though it ends as tokens do."""
BROKEN = b'data: {"choices": nonsense}\n\n'
EVENTS = st.sampled_from(
    (
        *(delta(content=text) for text in (" a", " bc", " error", "[DONE]", "0\r\n\r\n", "é")),
        *(delta(content="x", usage=counts(3, n)) for n in (1, 2, 3)),
        *(part + b"\n\n" for part in captured("llamacpp-chat.sse").split(b"\n\n")[:-1]),
        ROLE, STOP, DONE, usage(3, 9), ERROR, LATE_ERROR, BROKEN, b": ping\n\n",
        b'data: {"choices":[{"delta":{"content":"a"}}]}\r\n\r\n',
    )
)  # fmt: skip
TAILS = st.sampled_from((b"0\r\n\r\n", b"", b"zz\r\n", b"0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", STREAM))
WIRES = st.builds(
    lambda parts, tail: STREAM + b"".join(chunk(one) * times for one, times in parts) + tail,
    st.lists(st.tuples(EVENTS, st.integers(1, 5)), max_size=10),
    TAILS,
)


class Quiet(asyncio.Transport):
    """A socket that takes everything and says nothing."""

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None: ...


class Fed:
    """A transport whose connection gets these reads; ``settles`` says after which it settles."""

    def __init__(self, reads: list[bytes], settles: set[int], *, patient: bool) -> None:
        self.reads, self.settles, self.patient = reads, settles, patient
        self.waited = 0

    async def prepare(self, url: str) -> None: ...

    async def close(self) -> None: ...

    async def exchange(self, exchange: Exchange) -> Ending:
        if not self.patient:
            exchange.patient = None
        connection = Connection(lambda _: None)
        connection.connection_made(Quiet())
        connection.start(exchange, b"")
        for turn, data in enumerate(self.reads):
            if exchange.ended.done():
                break
            connection.data_received(data)
            self.waited = max(self.waited, len(connection.held.data if connection.held else ()))
            if turn in self.settles:
                connection.settle()
        connection.connection_lost(None)
        return await exchange.ended


async def answered(carrier: Fed, on_tokens: Callable[..., None]) -> Answer:
    # The clock tells the turn: equal readings mean equal attribution.
    ticks = count()
    client = EngineClient(Target("http://h", "m"), carrier, lambda: float(next(ticks)))
    return await client.complete(CompletionRequest("Hi", 8), Timeouts(), on_tokens=on_tokens)


def found(reads: list[bytes], settles: set[int], *, patient: bool) -> tuple[object, int]:
    """The answer with what was told on the way, and how many reads waited at most."""
    told: list[tuple[float, int]] = []
    carrier = Fed(reads, settles, patient=patient)

    def on_tokens(ats: Sequence[float], counts: Sequence[int]) -> None:
        told.extend(zip(ats, counts, strict=True))

    answer = asyncio.run(answered(carrier, on_tokens))
    return (answer, told), carrier.waited


@given(WIRES, st.lists(st.floats(0, 1), max_size=12), st.sets(st.integers(0, 12)))
def test_any_stream_in_any_reads(wire: bytes, places: list[float], settles: set[int]) -> None:
    ends = sorted({round(place * len(wire)) for place in places} | {len(wire)})
    reads = [wire[one:end] for one, end in zip([0, *ends], ends, strict=False) if one < end]
    assert found(reads, settles, patient=True)[0] == found(reads, set(), patient=False)[0]


@example([delta(content="a")] * 4 + [WRONG], b"0\r\n\r\n", {5})
@example([delta(content="a")] * 4 + [WRONG] * 2, b"", {3, 6})
@given(st.lists(EVENTS | st.just(WRONG), max_size=90), TAILS, st.sets(st.integers(0, 90)))
def test_any_stream_of_one_chunk_a_read(
    events: list[bytes], tail: bytes, settles: set[int]
) -> None:
    framed = [one if one == WRONG else chunk(one) for one in events]
    reads = [STREAM, *framed, *([tail] if tail else [])]
    patient, waited = found(reads, settles, patient=True)
    assert patient == found(reads, set(), patient=False)[0]
    assert waited <= MOST_HELD


async def test_tokens_wait_until_there_are_many_and_the_end_never_waits() -> None:
    tokens = [chunk(delta(content=f" {n}")) for n in range(3 * MOST_HELD)]
    batches: list[int] = []
    carrier = Fed([STREAM, *tokens, chunk(STOP + DONE), b"0\r\n\r\n"], set(), patient=True)
    answer = await answered(carrier, lambda ats, _: batches.append(len(ats)))
    assert (answer.outcome, answer.chunks) == (Outcome.OK, 3 * MOST_HELD)
    assert batches == [1, MOST_HELD, MOST_HELD, MOST_HELD - 1]
    assert carrier.waited == MOST_HELD - 1


@pytest.mark.parametrize(
    "data",
    [
        chunk(delta(content="a") + DONE),
        chunk(ERROR),
        chunk(delta(content="a")) + b"0\r\n\r\n",
        chunk(HELLO),
        chunk(delta(content="a"))[:-1],
        chunk(delta(content="a" * 5000)),
        delta(content="a"),
    ],
)
def test_what_may_be_an_end_does_not_wait(data: bytes) -> None:
    assert not may_wait(data)
    assert may_wait(chunk(delta(content="a")))


LONG = {"model": "m" * 90, "logprobs": None, "system_fingerprint": "f" * 30}


def long(text: str, finish: str | None = None, **more: object) -> bytes:
    """A chunk as long as engines send them: a token alone makes no other front or back."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return chunk(event({"id": "chatcmpl-1", **LONG, "choices": [choice], **more}))


@pytest.mark.parametrize(
    ("data", "alike"),
    [
        (long(" b"), True),
        (long(" longer than the one before"), True),
        (long("a", finish="error"), False),
        (long("a", error="no"), False),
        (long("a") + long("a"), False),
        (chunk(ERROR) + long("a"), False),
        (chunk(event({"error": LONG})), False),
        (long("a") + b"0\r\n\r\n", False),
        (long("a")[:-1], False),
        (b"", False),
    ],
)
def test_a_read_like_the_last_is_one_event_that_begins_and_ends_as_it_did(
    data: bytes, alike: bool
) -> None:
    last = long("a")
    assert may_wait(last)
    assert is_like(data, last[FRONT], last[BACK]) is alike
    assert not is_like(data, b"", b"")

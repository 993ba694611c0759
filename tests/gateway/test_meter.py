"""The short way past JSON gives what reading every event gives, for every split of the bytes."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.reading import Reading
from gateway.meter import Meter

FIXTURES = Path(__file__).parents[1] / "engines" / "fixtures"
STREAMS = sorted(FIXTURES.glob("*.sse"))


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges) if a < b]


def read(reading: Reading, pieces: list[bytes]) -> dict[str, Any]:
    for place, piece in enumerate(pieces):
        reading.body(float(place), piece)
    return {
        "counts": reading.counts(),
        "chunks": reading.chunks,
        "events": reading.events,
        "gaps": reading.gaps,
        "gap_tokens": reading.gap_tokens,
        "first": (reading.first_token_at, reading.first_answer_at, reading.last_token_at),
        "k": reading.first_chunk_tokens,
        "done": (reading.done, reading.over_at, reading.finish_reason),
        "failure": (reading.failure, reading.why),
        "continuous": reading.continuous,
    }


def same(pieces: list[bytes]) -> Meter:
    meter = Meter()
    assert read(meter, pieces) == read(Reading(), pieces)
    return meter


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
@given(cuts=st.lists(st.integers(0, 10**6), max_size=40))
def test_any_split_of_a_captured_stream_reads_the_same(path: Path, cuts: list[int]) -> None:
    same(split(path.read_bytes(), cuts))


@pytest.mark.parametrize("name", ["vllm-chat", "vllm-completions", "llamacpp-no-usage"])
def test_most_events_of_a_captured_stream_need_no_json(name: str) -> None:
    data = (FIXTURES / f"{name}.sse").read_bytes()
    events = [event + b"\n\n" for event in data.split(b"\n\n") if event]
    meter = same(events)
    assert meter.short >= meter.chunks - 6


def test_usage_on_each_chunk_is_read_each_time() -> None:
    data = (FIXTURES / "vllm-continuous.sse").read_bytes()
    events = [event + b"\n\n" for event in data.split(b"\n\n") if event]
    assert same(events).short == 0


def delta(**fields: Any) -> bytes:
    chunk = {"id": "c", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


TEXTS = st.sampled_from(
    ["a", "", '"', "\\", '\\"', '"content":"x"', "ä", "\n", '"}}],"error":{"a":1}', "finish_reason"]
)
EVENTS = st.one_of(
    TEXTS.map(lambda text: delta(content=text)),
    TEXTS.map(lambda text: delta(reasoning_content=text)),
    TEXTS.map(lambda text: delta(content="", tool_calls=[{"function": {"arguments": text}}])),
    st.sampled_from(
        [
            delta(role="assistant", content=""),
            b": a comment\n\n",
            b'event: error\ndata: {"message": "no"}\n\n',
            b'data: {"error": {"message": "no"}}\n\n',
            b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9}}\n\n',
            b'data: {"choices":[{"delta":{"content":"z"},"finish_reason":"length"}]}\n\n',
            b"data: [DONE]\n\n",
            b"data: {broken\n\n",
            b'data: {"choices":[{"delta":{"content":"a"},\ndata: "finish_reason":null}]}\n\n',
            b"\n",
        ]
    ),
)


@given(events=st.lists(EVENTS, max_size=30), cuts=st.lists(st.integers(0, 10**5), max_size=10))
def test_hostile_streams_read_the_same(events: list[bytes], cuts: list[int]) -> None:
    same(events)
    same(split(b"".join(events), cuts))


def test_a_compressed_stream_is_counted_too() -> None:
    data = (FIXTURES / "vllm-chat.sse").read_bytes()
    meter = Meter()
    meter.encoded("gzip")
    packed = gzip.compress(data)
    for place in range(0, len(packed), 50):
        meter.body(1.0, packed[place : place + 50])
    plain = Meter()
    plain.body(1.0, data)
    assert meter.counts() == plain.counts()


def test_a_stream_whose_events_change_each_second_is_learned_again() -> None:
    meter = Meter()
    for place in range(200):
        chunk = {"created": place // 10, "choices": [{"delta": {"content": f"w{place}"}}]}
        meter.body(float(place), b"data: " + json.dumps(chunk).encode() + b"\n\n")
    assert meter.chunks == 200
    assert meter.short == 180


def plain(text: str) -> bytes:
    return b'data: {"choices":[{"delta":{"content":"' + text.encode() + b'"}}]}\n\n'


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("b\\", True),
        ("b\\\\", False),
        ("b\\\\\\", True),
        ('b\\"', False),
        ('b"}}],"error":[{"m":{"t":"c', True),
        ('"}}],"error":[{"m":{"t":"c', True),
        ("", False),
    ],
)
def test_what_only_begins_and_ends_like_the_last_event_is_read(text: str, *, failed: bool) -> None:
    meter = same([plain("a"), plain("a"), plain(text), plain("z")])
    assert (meter.failure is not None) == failed
    assert meter.short >= 1

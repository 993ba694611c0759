"""What counts as a token, when the first one came, and where the count is from."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.openai import Chunk, Usage
from engines.reading import Reading
from measurement.outcome import Outcome, TokenSource
from tests.engines.sayings import (
    DONE,
    HELLO,
    LENGTH,
    ROLE,
    STOP,
    captured,
    counts,
    delta,
    event,
    usage,
)

# name, chunks with text, output tokens, prompt tokens, source, finish
CAPTURED = [
    pytest.param("vllm-chat.sse", 7, 8, 20, TokenSource.USAGE, id="vLLM: one token has no text"),
    pytest.param("vllm-continuous.sse", 4, 4, 20, TokenSource.USAGE, id="vLLM, usage each chunk"),
    pytest.param("vllm-completions.sse", 4, 4, 4, TokenSource.USAGE, id="vLLM completions"),
    pytest.param("llamacpp-chat.sse", 8, 8, 28, TokenSource.USAGE, id="llama.cpp"),
    pytest.param("llamacpp-no-usage.sse", 4, 4, 28, TokenSource.USAGE, id="llama.cpp's timings"),
]


def read(*pieces: bytes) -> Reading:
    """Piece i arrives at second i."""
    reading = Reading()
    for at, piece in enumerate(pieces):
        reading.body(float(at), piece)
    return reading


def channel(**fields: object) -> bytes:
    return ROLE + delta(**fields)


@pytest.mark.parametrize(("name", "chunks", "output", "prompt", "source"), CAPTURED)
def test_captured_streams_in_every_split(
    name: str, chunks: int, output: int, prompt: int, source: TokenSource
) -> None:
    stream = captured(name)
    splits = [[stream[:at], stream[at:]] for at in range(len(stream) + 1)]
    splits.append([bytes([byte]) for byte in stream])
    for pieces in splits:
        reading = read(*pieces)
        assert reading.chunks == chunks
        assert reading.counts() == (prompt, output, source)
        assert (reading.finish_reason, reading.done) == ("length", True)


@pytest.mark.parametrize("name", ["llamacpp-chat.sse", "vllm-chat.sse", "vllm-continuous.sse"])
def test_the_role_chunk_of_a_real_engine_is_no_token(name: str) -> None:
    role, _, rest = captured(name).partition(b"\n\n")
    reading = read(role + b"\n\n", b"", rest)
    assert reading.first_token_at == 2.0


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"content": ""}, id="empty content"),
        pytest.param({"content": None}, id="null content"),
        pytest.param({}, id="an empty delta"),
        pytest.param({"reasoning_content": ""}, id="empty reasoning"),
        pytest.param({"tool_calls": []}, id="no tool call"),
        pytest.param({"tool_calls": [{"function": {"name": "f", "arguments": ""}}]}, id="a name"),
    ],
)
def test_no_token(fields: dict[str, object]) -> None:
    assert read(channel(**fields)).first_token_at is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"reasoning": "Hm"}, id="reasoning"),
        pytest.param({"reasoning_content": "Hm"}, id="reasoning_content"),
        pytest.param({"tool_calls": [{"function": {"arguments": "{"}}]}, id="tool arguments"),
        pytest.param({"function_call": {"arguments": "{"}}, id="the old function call"),
        pytest.param({"refusal": "No"}, id="a refusal"),
    ],
)
def test_a_token_of_another_channel_is_the_first_token_but_no_answer(
    fields: dict[str, object],
) -> None:
    reading = read(b"", channel(**fields), delta(content="Yes"))
    assert (reading.first_token_at, reading.first_answer_at) == (1.0, 2.0)
    assert reading.gaps == [1.0]


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(event({"choices": []}), id="no choice"),
        pytest.param(event({"choices": None}), id="null choices"),
        pytest.param(event({"choices": [{"delta": None}]}), id="null delta"),
        pytest.param(usage(3, 2), id="usage only"),
        pytest.param(b": ping\n\n", id="comment"),
        pytest.param(b"data:\n\n", id="empty data"),
        pytest.param(event({"type": "ping"}), id="an object of another shape"),
        pytest.param(event({"error": None, "choices": []}), id="an error that is null"),
    ],
)
def test_noise_adds_no_token_and_no_failure(noise: bytes) -> None:
    reading = read(delta(content="a"), noise, delta(content="b"))
    assert (reading.chunks, reading.gaps, reading.failure) == (2, [2.0], None)


def test_continuous_usage_says_the_tokens_of_each_chunk() -> None:
    reading = read(
        delta(role="assistant", usage=counts(5, 0)),
        delta(content="abc", usage=counts(5, 3)),
        delta(content="d", usage=counts(5, 4)),
        delta(content="", usage=counts(5, 5)),  # a token without text goes to the next with text
        delta(content="fg", usage=counts(5, 7)),
    )
    assert reading.first_chunk_tokens == 3
    assert reading.gap_tokens == [1, 3]
    assert reading.continuous
    assert reading.counts() == (5, 7, TokenSource.CONTINUOUS_USAGE)


def test_final_usage_beats_continuous_usage() -> None:
    reading = read(delta(content="a", usage=counts(5, 1)), LENGTH, usage(5, 2), DONE)
    assert reading.counts() == (5, 2, TokenSource.USAGE)


def test_usage_on_the_last_chunk_alone_is_final_and_not_continuous() -> None:
    reading = read(delta(content="a"), delta(content="b", finish="stop", usage=counts(5, 9)))
    assert not reading.continuous
    assert reading.gap_tokens == [1]
    assert reading.counts() == (5, 9, TokenSource.USAGE)


@pytest.mark.parametrize("nonsense", [-1, -(2**70), 2**31, 10**30])
def test_a_count_that_cant_be_is_taken_as_not_said(nonsense: int) -> None:
    two = delta(content="a") + delta(content="b")
    assert read(two, usage(nonsense, nonsense)).counts() == (None, 2, TokenSource.CHUNKS)
    assert read(two, usage(nonsense, 7)).counts() == (None, 7, TokenSource.USAGE)
    told: list[int] = []
    reading = Reading(lambda _, n: told.append(n))
    reading.body(0.0, delta(content="a", usage=counts(5, nonsense)))
    reading.body(1.0, delta(content="b", usage=counts(5, 2)))
    assert (told, reading.gap_tokens, reading.continuous) == ([1, 1], [1], False)
    timings = event({"choices": [], "timings": {"prompt_n": nonsense, "predicted_n": nonsense}})
    assert read(two, timings).counts() == (None, 2, TokenSource.CHUNKS)
    whole = Reading(lambda _, n: told.append(n))
    whole.whole(1.0, Chunk(usage=Usage(nonsense, nonsense)))
    assert (whole.counts(), told) == ((None, None, None), [1, 1])


def test_chunks_are_the_last_resort_and_nothing_is_no_zero() -> None:
    assert read(delta(content="a"), delta(content="b")).counts() == (None, 2, TokenSource.CHUNKS)
    assert read(ROLE, STOP).counts() == (None, None, None)


@pytest.mark.parametrize(
    ("frame", "outcome"),
    [
        (event({"error": {"message": "out of memory"}}), Outcome.IN_BAND_ERROR),
        (event({"error": "overloaded", "error_type": "x"}), Outcome.IN_BAND_ERROR),
        (event({"object": "error", "message": "bad"}), Outcome.IN_BAND_ERROR),
        (b"event: error\ndata: it broke\n\n", Outcome.IN_BAND_ERROR),
        (b'event: error\ndata: {"message": "it broke"}\n\n', Outcome.IN_BAND_ERROR),
        (b"data: {nonsense\n\n", Outcome.MALFORMED),
        (b'data: "text"\n\n', Outcome.MALFORMED),
        (b'data: {"choices": 7}\n\n', Outcome.MALFORMED),
    ],
)
def test_a_failure_in_the_stream_ends_it_and_keeps_what_came_before(
    frame: bytes, outcome: Outcome
) -> None:
    reading = read(delta(content="a"), frame, delta(content="b") + DONE)
    assert (reading.failure, reading.over_at, reading.chunks) == (outcome, 1.0, 1)
    assert reading.why


def test_bytes_that_are_no_utf8_are_replaced_and_still_a_token() -> None:
    assert read(delta(content="?").replace(b"?", b"\xff"), DONE).chunks == 1


def test_nothing_counts_after_done() -> None:
    reading = read(HELLO, delta(content="late"), usage(3, 9))
    assert (reading.chunks, reading.over_at, reading.counts()[1]) == (2, 0.0, 2)


def test_tokens_are_told_as_they_come() -> None:
    told: list[tuple[float, int]] = []
    reading = Reading(lambda at, n: told.append((at, n)))
    reading.body(1.5, delta(content="ab", usage=counts(5, 2)))
    reading.body(2.5, delta(content="c", usage=counts(5, 3)))
    assert told == [(1.5, 2), (2.5, 1)]


def test_the_answers_first_token_is_told_once_and_reasoning_is_none() -> None:
    told: list[float] = []
    reading = Reading(on_answer=told.append)
    for at, piece in enumerate((delta(reasoning="Hm"), delta(content="a"), delta(content="b"))):
        reading.body(float(at), piece)
    assert told == [1.0]


@pytest.mark.parametrize("start", [b"", b"\n", b" ", b"\xef\xbb\xbf", b"\r\n\r\n"])
def test_a_stream_is_known_by_its_first_byte(start: bytes) -> None:
    assert read(start + HELLO).streamed
    assert not read(start + b'{"choices": []}').streamed
    assert not read(start + b"<html>").streamed


@given(st.lists(st.integers(0, len(HELLO)), max_size=20))
def test_any_split_reads_the_same(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(HELLO)]
    reading = read(*(HELLO[a:b] for a, b in itertools.pairwise(edges)))
    assert (reading.chunks, reading.final) == (2, Usage(3, 2))

"""Tokens taken several at a time are those taken one by one, whatever the stream and its splits."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from engines.alike import counted_at, run_at
from engines.reading import Reading
from tests.engines.sayings import DONE, ROLE, STOP, captured, counts, delta, event, usage

CAPTURED = ("vllm-chat.sse", "vllm-continuous.sse", "vllm-completions.sse", "llamacpp-chat.sse")
TEXTS = st.one_of(
    st.sampled_from(["a", " the", "", '"', "\\", "\n\n", "}", "é", "\u2028", "\ud83d", "{"]),
    st.text(max_size=6),
)
ODD = (
    b": ping\n\n",
    b"\n\n",
    b"data: [DONE]\r\n\r\n",
    b'data:{"choices":[{"delta":{"content":"a"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"a"}}]}\r\n\r\n',
    b'id: 7\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n',
    b'event: error\ndata: {"choices":[{"delta":{"content":"a"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"a\nb"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"a\\q"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"\\ud800"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"a","content":""}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}\n\n',
    b'data: {"choices":[{"text":"a"}],"timings":{"prompt_n":3,"predicted_n":4}}\n\n',
    b'data: {"choices": nonsense}\n\n',
)
EVENTS = st.one_of(
    st.builds(lambda text: delta(content=text), TEXTS),
    st.builds(lambda text: delta(reasoning=text), TEXTS),
    st.builds(lambda text: event({"choices": [{"index": 0, "text": text}]}), TEXTS),
    st.builds(lambda text, n: delta(content=text, usage=counts(3, n)), TEXTS, st.integers(-1, 9)),
    st.sampled_from((ROLE, STOP, DONE, usage(3, 2), event({"error": {"message": "no"}}), *ODD)),
    st.sampled_from(
        [part + b"\n\n" for name in CAPTURED for part in captured(name).split(b"\n\n")]
    ),
)


def counting(texts: list[str], start: int, steps: list[int], more: dict[str, Any]) -> bytes:
    """As vLLM and SGLang say with each chunk how many tokens there are so far."""
    said = accumulate(steps, initial=start)
    return b"".join(
        delta(
            content=text,
            usage={"prompt_tokens": 3, "total_tokens": 3 + n, "completion_tokens": n, **more},
        )
        for text, n in zip(texts, said, strict=False)
    )


COUNTING = st.builds(
    counting,
    st.lists(TEXTS, max_size=8),
    st.integers(-1, 3),
    st.lists(st.sampled_from([1, 1, 1, 0, 2, 7, -1, 10**9]), max_size=8),
    st.sampled_from(
        [{}, {"prompt_tokens_details": None}, {"reasoning_tokens": 0}, {"completion_tokens": 2}]
    ),
)
# Streams repeat themselves: runs of one event are what is to be found.
STREAMS = st.lists(st.tuples(EVENTS | COUNTING, st.integers(1, 6)), max_size=12).map(
    lambda parts: b"".join(one * times for one, times in parts)
)


def cut(stream: bytes, places: list[float]) -> list[bytes]:
    """The pieces between places that are given as shares of the whole; none of them is empty."""
    ends = sorted({round(place * len(stream)) for place in places} | {len(stream)} - {0})
    starts = [0, *ends]
    return [stream[one:end] for one, end in zip(starts, ends, strict=False) if one < end]


def seen(reading: Reading) -> dict[str, Any]:
    names = (
        "token_times", "chunk_tokens", "chunks", "events", "event_at", "first_token_at",
        "first_answer_at", "last_token_at", "first_chunk_tokens", "over_at", "done", "continuous",
        "finish_reason", "failure", "why", "so_far", "final", "text", "gaps", "gap_tokens",
    )  # fmt: skip
    return {name: getattr(reading, name) for name in names} | {"counts": reading.counts()}


def one_by_one(pieces: list[bytes]) -> tuple[Reading, list[tuple[float, int]]]:
    told: list[tuple[float, int]] = []
    reading = Reading(lambda at, n: told.append((at, n)))
    for at, piece in enumerate(pieces):
        reading.body(float(at), piece)
    return reading, told


def together(pieces: list[bytes], sizes: list[int]) -> tuple[Reading, list[tuple[float, int]]]:
    """The same in batches of these sizes, and a last one."""
    told: list[tuple[float, int]] = []
    reading = Reading(lambda at, n: told.append((at, n)))
    ends = [*accumulate(sizes), len(pieces)]
    for start, end in zip([0, *ends], ends, strict=False):
        batch = pieces[start:end]
        if batch:
            reading.bodies([float(at) for at in range(start, start + len(batch))], batch)
    return reading, told


@given(STREAMS, st.lists(st.floats(0, 1), max_size=20), st.lists(st.integers(1, 8), max_size=8))
@example(delta(content="a") * 9, [i / 9 for i in range(9)], [1])
@example(delta(content="a") * 9, [i / 7 for i in range(9)], [1])
@example(delta(content="a") * 9, [2 / 9, 3 / 9, 5 / 9, 7 / 9], [1])
@example(delta(content="a", usage=counts(3, 4)) * 9, [i / 9 for i in range(9)], [2])
@example(delta(content="a", finish="stop") * 9 + DONE, [i / 20 for i in range(20)], [1])
@example(event({"content": "no token here"}) * 5, [i / 5 for i in range(5)], [1])
@example(delta(content="", reasoning="b") * 4 + delta(content="a") * 4, [0.1, 0.4], [1])
@example(ROLE + delta(content="a") * 5 + STOP + DONE, [0.1, 0.2, 0.9], [1])
@example(counting(["a"] * 9, 1, [1] * 9, {}) + usage(3, 9) + DONE, [i / 9 for i in range(9)], [1])
@example(counting(["a"] * 9, 1, [2, 1, 0, 3] * 2, {}), [i / 20 for i in range(20)], [4])
@example(delta(content="b") + counting(["a"] * 9, 1, [2] * 9, {}), [i / 9 for i in range(9)], [1])
def test_bodies_say_what_each_body_says(
    stream: bytes, places: list[float], sizes: list[int]
) -> None:
    pieces = cut(stream, places)
    exact, told = one_by_one(pieces)
    fast, told_fast = together(pieces, sizes)
    assert seen(fast) == seen(exact)
    assert told_fast == told


@given(STREAMS.filter(bool), st.lists(st.integers(1, 30), max_size=8))
def test_so_do_pieces_that_are_events(stream: bytes, sizes: list[int]) -> None:
    """As engines send them: one event a piece."""
    pieces = [part + b"\n\n" for part in stream.split(b"\n\n")[:-1]]
    assert seen(together(pieces, sizes)[0]) == seen(one_by_one(pieces)[0])


def test_a_run_is_found_where_engines_send_one_and_ends_where_it_ends() -> None:
    tokens = b"".join(delta(content=text) for text in ("a", " b", '"', "\n", "\u00e9"))
    found = run_at(ROLE + tokens + STOP, len(ROLE))
    assert found is not None
    assert found.end == len(ROLE + tokens)
    assert b"data: " + found.data + b"\n\n" == delta(content="a")
    assert run_at(delta(content="a") + delta(content="") * 3, 0) is None
    assert run_at(delta(content="a") + delta(content="a", finish="stop"), 0) is None


def test_a_run_that_counts_its_tokens_is_found_but_for_its_last_event() -> None:
    steps = [2, 1, 4, 1]
    found = counted_at(ROLE + counting(["a", " b", '"', "\n", "c"], 1, steps, {}), len(ROLE))
    assert found is not None
    run, said = found
    assert run.end == len(ROLE + counting(["a", " b", '"', "\n"], 1, steps, {}))
    assert said == [1, 3, 4, 8]
    nested = event({"choices": [{"text": "a"}], "x": {"usage": 1}, "usage": {"x": {"n": 2}}})
    assert counted_at(nested * 4, 0) is None


def test_no_place_is_tried_for_long_in_an_event_made_to_keep_us_busy() -> None:
    evil = b'data: {"content":"' + b'","content":"' * 100_000
    assert run_at(evil + b"\n\n", 0) is None

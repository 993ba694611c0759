"""The event-stream rules of the WHATWG standard, one by one, and under any split of the bytes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.sse import Event, SseError, SseParser

FAMILY = "é 漢 👩‍🚀"

CASES = [
    pytest.param(b"data: a\n\n", [b"a"], id="LF"),
    pytest.param(b"data: a\r\n\r\n", [b"a"], id="CRLF"),
    pytest.param(b"data: a\r\r", [b"a"], id="CR"),
    pytest.param(b"data: a\n\r\ndata: b\r\n\ndata: c\r\n\r", [b"a", b"b", b"c"], id="mixed ends"),
    pytest.param(b"\xef\xbb\xbfdata: a\n\n", [b"a"], id="BOM at the start"),
    pytest.param(b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"], id="a BOM later is a field name"),
    pytest.param(b": ping\n\ndata: a\n\n:\n\n", [b"a"], id="comments"),
    pytest.param(b"data:a\n\ndata:  b\n\n", [b"a", b" b"], id="one optional space"),
    pytest.param(b"data: a\ndata: b\n\n", [b"a\nb"], id="several data lines"),
    pytest.param(b"data\n\ndata:\n\n", [b"", b""], id="empty data is an event"),
    pytest.param(b"event: x\n\ndata: a\n\n", [b"a"], id="no data, no event"),
    pytest.param(b"dat: a\n data: b\nDATA: c\n\n", [], id="unknown fields"),
    pytest.param(b"data: a\n\n\n\n\ndata: b\n\n", [b"a", b"b"], id="more blank lines"),
    pytest.param(b"data: a\n\ndata: b\n", [b"a"], id="an unfinished block is no event"),
    pytest.param(f"data: {FAMILY}\n\n".encode(), [FAMILY.encode()], id="UTF-8"),
    pytest.param(b'data: {"a": "b:c"}\n\n', [b'{"a": "b:c"}'], id="colons in data"),
    pytest.param(b"id: 1\nretry: 5\ndata: a\n\n", [b"a"], id="other fields"),
    pytest.param(b"", [], id="nothing"),
]


def whole(stream: bytes) -> list[Event]:
    return SseParser().feed(stream)


@pytest.mark.parametrize(("stream", "data"), CASES)
def test_the_standard(stream: bytes, data: list[bytes]) -> None:
    assert [event.data for event in whole(stream)] == data


@pytest.mark.parametrize(("stream", "data"), CASES)
def test_every_split_in_two_and_byte_by_byte(stream: bytes, data: list[bytes]) -> None:
    splits = [[stream[:at], stream[at:]] for at in range(len(stream) + 1)]
    splits.append([bytes([byte]) for byte in stream])
    for pieces in splits:
        parser = SseParser()
        events = [event.data for piece in pieces for event in parser.feed(piece)]
        assert events == data, pieces


def test_an_event_names_its_type_and_the_last_id() -> None:
    events = whole(b"data: a\n\nevent: error\nid: 7\ndata: b\n\ndata: c\n\n")
    assert events == [Event(b"a"), Event(b"b", "error", "7"), Event(b"c", "message", "7")]


def test_an_id_with_a_nul_is_ignored() -> None:
    assert whole(b"id: 1\n\nid: 2\0\ndata: a\n\n") == [Event(b"a", "message", "1")]


@pytest.mark.parametrize(("line", "milliseconds"), [(b"1500", 1500), (b"1.5", None), (b"", None)])
def test_retry_takes_digits_only(line: bytes, milliseconds: int | None) -> None:
    parser = SseParser()
    parser.feed(b"retry: " + line + b"\n")
    assert parser.retry == milliseconds


def test_a_cr_dispatches_without_waiting_for_what_follows() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [Event(b"a")]
    assert parser.feed(b"\ndata: b\r\r") == [Event(b"b")]


LINES = st.lists(
    st.sampled_from(
        [b"data: a", b"data:", b"data: " + "é漢".encode(), b": c", b"event: e", b"id: 3", b"", b"x"]
    ),
    max_size=12,
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    bom = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return bom + b"".join(line + draw(ENDS) for line in draw(LINES))


@given(streams(), st.lists(st.integers(0, 200), max_size=8))
def test_any_split_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    parser, at, events = SseParser(), 0, []
    for cut in [*sorted(cuts), len(stream)]:
        events += parser.feed(stream[at:cut])
        at = max(at, cut)
    assert events == whole(stream)


@given(st.binary(max_size=300), st.integers(0, 300))
def test_any_bytes_at_all_give_the_same_events_split_or_whole(stream: bytes, cut: int) -> None:
    parser = SseParser()
    assert parser.feed(stream[:cut]) + parser.feed(stream[cut:]) == whole(stream)


def test_a_line_of_a_megabyte_comes_through_in_small_pieces_in_good_time() -> None:
    line = b"data: " + b"x" * 1_000_000
    parser, began = SseParser(), time.process_time()
    for at in range(0, len(line), 100):
        assert parser.feed(line[at : at + 100]) == []
    (event,) = parser.feed(b"\n\n")
    assert len(event.data) == 1_000_000
    assert time.process_time() - began < 2.0  # quadratic work would take a minute


@pytest.mark.parametrize(
    "piece", [b"data: " + b"x" * 90 + b"\n", b"x" * 40, b"data: " + b"x" * 900]
)
def test_an_event_over_the_limit_is_an_error_that_says_the_limit(piece: bytes) -> None:
    parser = SseParser(limit=256)

    def feed_on() -> None:
        for _ in range(10):
            parser.feed(piece)

    with pytest.raises(SseError, match="over 256 bytes"):
        feed_on()


def test_many_events_larger_than_the_limit_together_are_fine() -> None:
    assert len(SseParser(limit=64).feed(b"data: 0123456789\n\n" * 100)) == 100

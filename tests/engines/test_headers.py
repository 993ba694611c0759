"""When to come back, and an excerpt that gives no secret away."""

from __future__ import annotations

import pytest

from engines.headers import excerpt, retry_after

NOON = 1_795_953_600.0  # Sun, 29 Nov 2026 12:00:00 GMT


def wait(value: str, date: str = "") -> float | None:
    headers = {"retry-after": value} | ({"date": date} if date else {})
    return retry_after(headers, lambda: NOON)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("99999999", 86_400.0),
        ("Sun, 29 Nov 2026 12:00:20 GMT", 20.0),
        ("Sunday, 29-Nov-26 12:00:20 GMT", 20.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("Sun, 29 Nov 2099 11:00:00 GMT", 86_400.0),
    ],
)
def test_seconds_and_dates(value: str, seconds: float) -> None:
    assert wait(value) == seconds


@pytest.mark.parametrize("value", ["", "soon", "-5", "inf", "nan", "1e9", "9" * 400, "Sun, 99 Foo"])
def test_what_can_not_be_read_is_none(value: str) -> None:
    assert wait(value) is None


def test_a_date_is_held_against_the_servers_own_clock() -> None:
    date = "Sun, 29 Nov 2026 10:00:00 GMT"
    assert wait("Sun, 29 Nov 2026 10:00:07 GMT", date) == 7.0
    assert wait("Sun, 29 Nov 2026 12:00:07 GMT", "rubbish") == 7.0


def test_no_header_is_none() -> None:
    assert retry_after({}, lambda: NOON) is None


@pytest.mark.parametrize(
    "body",
    [
        "bad key S3CRET!",
        '{"error": "Authorization: Bearer abc.def-1"}',
        "basic YWJjOmRlZg==",
        "Incorrect API key provided: sk-proj-a1b2c3d4e5f6g7h8",
        '{"api_key": "zzz", "x": 1}',
        "token hf_1234567890abcdefgh",
    ],
)
def test_secrets_are_removed(body: str) -> None:
    shown = excerpt(body.encode(), ("S3CRET!", ""))
    assert "[removed]" in shown
    for secret in ("S3CRET!", "abc.def", "YWJj", "a1b2c3", "zzz", "567890"):
        assert secret not in shown


@pytest.mark.parametrize("body", ["token_budget_exceeded by 12", "the key is too long", "hf_hub"])
def test_plain_words_stay(body: str) -> None:
    assert excerpt(body.encode()) == body


def test_an_excerpt_has_500_characters_and_bears_broken_bytes() -> None:
    assert len(excerpt("é".encode() * 900)) == 500
    assert excerpt(b"\xff ok") == "\ufffd ok"


def test_a_secret_that_straddles_the_cut_is_removed_whole() -> None:
    assert "SEC" not in excerpt(b"x" * 498 + b"SECRETKEY", ("SECRETKEY",))

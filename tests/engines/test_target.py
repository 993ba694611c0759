"""A target: its URLs, and what it refuses to be made of."""

from __future__ import annotations

import math

import pytest

from documents.problem import DocumentError
from engines.request import Timeouts
from engines.target import Target


@pytest.mark.parametrize(
    "base", ["http://h:8000", "http://h:8000/", "http://h:8000/v1", "http://h:8000/v1/"]
)
def test_a_base_url_may_end_in_v1_or_not(base: str) -> None:
    target = Target(base, "m")
    assert target.url("/v1/models") == "http://h:8000/v1/models"
    assert target.url("/metrics") == "http://h:8000/metrics"


def test_a_path_before_v1_is_kept() -> None:
    assert Target("https://h/llm/v1", "m").url("/v1/models") == "https://h/llm/v1/models"


def test_the_key_travels_in_a_header_and_shows_nowhere_else() -> None:
    target = Target("http://h:8000", "m", api_key="S3CRET")
    assert target.headers() == (("Authorization", "Bearer S3CRET"),)
    assert "S3CRET" not in repr(target)
    assert Target("http://h:8000", "m").headers() == ()


@pytest.mark.parametrize(
    "base",
    [
        "h:8000",
        "ftp://h",
        "http://",
        "http://h:99999",
        "http://h/?x=1",
        "http://h/#x",
        "http://h h",
        "http://h\r\nX: y",
        "http://bücher.example",
        "http://u:S3CRET@h",
        "http://h\\",
    ],
)
def test_what_is_no_base_url_is_refused_by_name(base: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Target(base, "m")
    assert caught.value.problems[0].path == "base_url"
    assert "S3CRET" not in str(caught.value)


@pytest.mark.parametrize("key", ["a b", "a\r\nX: y", "schlüssel"])
def test_a_key_that_would_break_the_header_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Target("http://h", "m", api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_a_time_out_must_be_above_zero(value: float) -> None:
    with pytest.raises(ValueError, match=r"timeouts\.idle"):
        Timeouts(idle=value)

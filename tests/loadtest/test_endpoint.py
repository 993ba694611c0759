"""Endpoints as people write them: with /v1 or without, never with a credential."""

from __future__ import annotations

from typing import Any

import pytest

from documents.parse import build
from documents.problem import DocumentError
from loadtest.endpoint import Endpoint


def endpoint(**given: Any) -> Endpoint:
    return build(Endpoint, {"base_url": "http://h:1", "model": "m", **given}, path="endpoint")


@pytest.mark.parametrize(
    "url",
    ["http://h:8000", "http://h:8000/", "http://h:8000/v1", "http://h:8000/v1/", " http://h:8000 "],
)
def test_the_base_url_is_taken_with_or_without_v1(url: str) -> None:
    assert endpoint(base_url=url).base_url == "http://h:8000"


def test_a_path_before_v1_is_kept() -> None:
    assert endpoint(base_url="https://h/llm/v1").base_url == "https://h/llm"


@pytest.mark.parametrize(
    "url",
    [
        "h:8000",
        "ftp://h",
        "http://",
        "http://h:port",
        "http://[1",
        "http://h/?key=1",
        "http://h/#a",
    ],
)
def test_what_is_no_http_address_is_refused(url: str) -> None:
    with pytest.raises(DocumentError, match=r"endpoint\.base_url: must be an"):
        endpoint(base_url=url)


def test_a_credential_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(DocumentError, match="HEADWAY_API_KEY") as caught:
        endpoint(base_url="http://user:hunter2@h:8000")
    assert "hunter2" not in str(caught.value)


def test_a_credential_has_no_field() -> None:
    with pytest.raises(DocumentError, match=r"endpoint\.api_key: unknown field"):
        endpoint(api_key="sk-1")


def test_a_model_needs_a_name() -> None:
    with pytest.raises(DocumentError, match=r"endpoint\.model"):
        endpoint(model=" ")

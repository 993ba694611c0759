"""Bodies that are hostile or broken: refused as problems, whatever they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from controlplane.catalogue.services import endpoints
from controlplane.teams.rights import Actor

Call = Callable[..., Any]
ENDPOINT = {"name": "one", "base_url": "http://127.0.0.1:9999", "model": "m"}


@pytest.fixture
def call(operator: Actor, api_as: Callable[..., Call]) -> Call:
    return api_as(operator)


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/endpoints", {**ENDPOINT, "model": "\ud800"}, "#/model"),
        ("/endpoints", {**ENDPOINT, "credential": "\ud800"}, "#/credential"),
        ("/endpoints", {**ENDPOINT, "\ud800": 1}, "#/\\ud800"),
        ("/workloads", {"name": "\ud800", "document": {"kind": "fixed"}}, "#/name"),
        ("/policies", {"document": {"metadata": {"owner": "\ud800"}}}, "#/document/metadata/owner"),
        ("/runs", {"prompt_salt": "\ud800"}, "#/prompt_salt"),
    ],
)
def test_what_is_no_text_is_refused_where_it_stands(
    call: Call, path: str, body: dict[str, Any], pointer: str
) -> None:
    refused = call("post", path, body, Idempotency_Key="one")
    assert refused.status_code == 422, refused.content
    (error,) = refused.json()["errors"]
    assert error["pointer"] == pointer
    assert "no text" in error["detail"]


@pytest.mark.parametrize(
    "body", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 500 + "1" + "}" * 500]
)
@pytest.mark.parametrize("path", ["/endpoints", "/policies", "/runs"])
def test_a_body_that_is_nested_too_deep_is_refused(call: Call, path: str, body: str) -> None:
    refused = call("post", path, body, Idempotency_Key="one")
    assert (refused.status_code, refused["Content-Type"]) == (400, "application/problem+json")
    assert "levels deep" in refused.json()["detail"]


def test_a_locked_database_asks_for_patience(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(**_said: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(endpoints, "create_endpoint", locked)
    refused = call("post", "/endpoints", ENDPOINT)
    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert refused["Content-Type"] == "application/problem+json"
    assert "try again" in refused.json()["detail"]

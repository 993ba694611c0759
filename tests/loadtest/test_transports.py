"""Which transport carries a run: what was asked for, or what measures best; never silently less."""

from __future__ import annotations

import pytest

from documents.problem import DocumentError
from engines.transport import kernel_clock
from loadtest import transports
from loadtest.scenario import Scenario
from tests.loadtest.test_scenario import document

HTTP, HTTPS = "http://127.0.0.1:8000", "https://engine.example"


@pytest.mark.parametrize(
    ("asked", "url", "stamps", "chosen"),
    [
        ("auto", HTTP, True, "kernel"),
        ("auto", HTTP, False, "protocol"),
        ("auto", HTTPS, True, "protocol"),
        ("kernel", HTTP, True, "kernel"),
        ("protocol", HTTP, True, "protocol"),
        ("aiohttp", HTTPS, True, "aiohttp"),
    ],
)
def test_auto_takes_kernel_stamps_where_it_can(
    asked: str, url: str, stamps: bool, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_clock, "available", lambda: stamps)
    assert transports.chosen(asked, url) == chosen


@pytest.mark.parametrize(
    ("url", "stamps", "why"), [(HTTPS, True, "http address"), (HTTP, False, "Linux")]
)
def test_kernel_stamps_that_can_not_be_had_are_refused(
    url: str, stamps: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_clock, "available", lambda: stamps)
    endpoint = {"base_url": url, "model": "m"}
    with pytest.raises(DocumentError, match=why):
        Scenario.parse(document(endpoint=endpoint, transport="kernel"))


def test_the_default_keeps_the_hash_that_a_scenario_had_before_there_was_a_choice() -> None:
    assert "transport" not in Scenario.parse(document()).to_document()
    asked = Scenario.parse(document(transport="protocol"))
    assert asked.to_document()["transport"] == "protocol"
    assert Scenario.parse(asked.to_document()) == asked

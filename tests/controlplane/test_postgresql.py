"""The same tests on a real PostgreSQL: its triggers, locks and constraints are its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
AGAIN = (
    *("audit", "teams", "catalogue", "api/test_catalogue.py", "api/test_idempotency.py"),
    *("gates/test_services.py", "runs/test_services.py", "runs/test_supervisor.py"),
    *("runs/test_views.py", "runs/test_watchdog.py", "test_in_use.py", "test_migrations.py"),
    *("gateways/test_telemetry.py", "comparisons/test_supervisor.py"),
    "gateways/test_budgets.py::test_a_window_is_counted_once_and_outlives_itself",
    "comparisons/test_services.py::test_the_same_comparison_is_taken_once",
    "rollouts/test_deciding.py::test_two_of_two_are_needed_where_the_plan_says_so",
    "rollouts/test_deciding.py::test_an_edit_voids_every_approval_and_bars_its_editor",
    "rollouts/test_services.py::test_abort_works_while_it_is_held",
)
"""What leans on the database: locks, constraints, triggers, queries. Not what folds and draws."""
PAGES = "not test_views or (few_queries or first_page or fleet or run_again or cancel)"
"""Of the runs' pages only those that list, start or stop."""
pytestmark = pytest.mark.postgresql


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """TEST_POSTGRES_URL if given; else a cluster of our own on a unix socket, gone at the end."""
    if given := os.environ.get("TEST_POSTGRES_URL"):
        yield given
        return
    if not BINARIES:
        pytest.skip("no PostgreSQL on this machine: install it, or set TEST_POSTGRES_URL")
    owner = _owner()
    home = Path(tempfile.mkdtemp(prefix="headway-pg-"))
    try:
        shutil.chown(home, owner)
        yield from _cluster(home, owner)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _owner() -> str:
    """PostgreSQL refuses root; then its own account runs it."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        pytest.skip("we are root and there is no account postgres; set TEST_POSTGRES_URL")


def _cluster(home: Path, owner: str) -> Iterator[str]:
    binaries, data = BINARIES[-1].parent, home / "data"

    def run(*words: str) -> None:
        subprocess.run(words, user=owner, cwd=home, check=True, stdout=subprocess.DEVNULL)

    run(str(binaries / "initdb"), "-D", str(data), "-U", "headway", "-A", "trust", "--no-sync")
    options = f"-k {home} -c listen_addresses='' -c fsync=off"
    log = str(home / "log")
    run(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-o", options, "-l", log, "start")
    try:
        yield f"postgresql://headway@{str(home).replace('/', '%2F')}/postgres"
    finally:
        run(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop")


@pytest.mark.timeout(600)
def test_the_control_plane_holds_on_postgresql(server: str) -> None:
    here = Path(__file__).parent
    paths = [str(here / name) for name in AGAIN if (here / name.partition("::")[0]).exists()]
    options = ("-q", "-p", "no:cacheprovider", "-m", "not postgresql and not browser", "-k", PAGES)
    # Threads of the tests end with their connections open; the whole cluster goes anyway.
    quiet = ("-W", "ignore:Error when trying to teardown test databases")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *quiet, *paths],
        env={**os.environ, "DATABASE_URL": server},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-6000:]

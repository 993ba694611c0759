"""The children of `headway up`: started in order, revived, and ended without a trace."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from headway.embedded.child import Spec
from headway.embedded.data_dir import CannotStart, held
from headway.embedded.family import RESTARTS, Family
from headway.embedded.kept_secret import kept_secret
from headway.embedded.ports import free_port, is_free

SLEEPER = "import time; time.sleep(60)"
STUBBORN_PARENT = """
import pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(60)
"""


def python(code: str, *args: str, **rest) -> Spec:
    return Spec("child", [sys.executable, "-c", code, *args], **rest)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def family(tmp_path: Path, said: list[str]):
    family = Family(
        environment=dict(os.environ),
        logs=tmp_path,
        clock=time.monotonic,
        sleep=time.sleep,
        say=said.append,
    )
    yield family
    family.end()


def alive(pid: int) -> bool:
    """A zombie that init has not reaped yet counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(what, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_child_that_ignores_the_signal_is_killed_with_its_own_children(
    family: Family, tmp_path: Path
) -> None:
    note = tmp_path / "grandchild"
    child = family.start(python(STUBBORN_PARENT, str(note), stop_after=0.2))
    wait_for(lambda: note.exists() and note.read_text())
    family.end()
    assert not alive(child.pid)
    wait_for(lambda: not alive(int(note.read_text())))


def test_a_child_that_ends_while_starting_is_told_with_the_end_of_its_log(family: Family) -> None:
    child = family.start(python("raise SystemExit('no such table')", ready=lambda: False))
    wait_for(lambda: child.exit_code is not None)
    with pytest.raises(CannotStart, match=r"(?s)ended at once with code 1; .*no such table"):
        family.wait_ready(child)


def test_a_child_that_never_answers_is_given_up_at_its_deadline(family: Family) -> None:
    child = family.start(python(SLEEPER, ready=lambda: False, ready_within=0.1))
    with pytest.raises(CannotStart, match=r"did not answer within 0\.1 s"):
        family.wait_ready(child)


def test_a_fallen_child_is_started_again_and_its_last_log_kept(
    family: Family, said: list[str], tmp_path: Path
) -> None:
    child = family.start(python("print('first words')"))
    wait_for(lambda: child.exit_code is not None)
    family.revive()
    assert "child ended with code 0; starting it again" in said[0]
    assert (tmp_path / "child.log.1").read_text() == "first words\n"


def test_a_child_that_keeps_falling_ends_the_whole(family: Family) -> None:
    family.start(python("raise SystemExit(3)"))
    for _ in range(RESTARTS):
        wait_for(lambda: family._children["child"].exit_code is not None)
        family.revive()
    wait_for(lambda: family._children["child"].exit_code is not None)
    with pytest.raises(CannotStart, match="child fell 6 times"):
        family.revive()


def test_a_data_directory_serves_one_at_a_time_and_no_lock_outlives_its_holder(
    tmp_path: Path,
) -> None:
    with (
        held(tmp_path / "data"),
        pytest.raises(CannotStart, match="another headway up already uses"),
        held(tmp_path / "data"),
    ):
        pass
    with held(tmp_path / "data"):
        assert (tmp_path / "data" / "logs").is_dir()


def test_a_data_directory_that_cant_be_made_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(CannotStart, match="give another with --data-dir"),
        held(tmp_path / "file/x"),
    ):
        pass


def test_a_kept_secret_is_the_same_at_the_second_start_and_private(tmp_path: Path) -> None:
    first = kept_secret(tmp_path, "secret_key")
    assert kept_secret(tmp_path, "secret_key") == first
    assert len(first) >= 40
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_a_listening_port_is_not_free() -> None:
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        assert not is_free("127.0.0.1", server.getsockname()[1])
    assert is_free("127.0.0.1", free_port())

"""`headway up` from outside: ready, private, ended without a trace, and everything kept."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from headway.embedded.ports import free_port
from tests.end_to_end.embedded import Embedded, Visitor, command, descendants, gone, wait_for

LOAD = {
    "endpoint": "embedded",
    "policy": "fixed-32",
    "workload": "fixed-64",
    "slo": "chat-interactive",
    "arrivals": {"process": "poisson", "rate": 5},
    "duration_s": 120,
}


def listening(pids: set[int]) -> set[str]:
    """The addresses, as the kernel writes them, that these processes listen on over TCP."""
    sockets = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                sockets.add(str(descriptor.readlink()))
            except FileNotFoundError:
                continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.add(words[1].rsplit(":", 1)[0])
    return found


def load_processes(family: set[int]) -> set[int]:
    """Those of them that send a run's load."""
    lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in family}
    return {pid for pid, line in lines.items() if b"loadtest.worker" in line.read_bytes()}


def test_a_first_start_shows_a_running_load_test_and_a_second_keeps_it(tmp_path: Path) -> None:
    first = Embedded(tmp_path / "data", free_port()).start()
    family = descendants(first.process.pid)
    try:
        assert first.seconds < 5 * 20, "ready within 20 s on a quiet machine"
        assert listening(family) == {"0100007F"}, "only 127.0.0.1 is listened on"
        home = Visitor(first.url).sign_in(first.password).get("/")
        assert "embedded" in home
        (run,) = first.rows("SELECT id FROM runs_run")
        wait_for(
            lambda: first.rows("SELECT count(*) FROM runs_runwindow")[0][0] >= 3,
            within=60,
            why="the first run's windows",
        )
        wait_for(
            lambda: first.rows("SELECT count(*) FROM gateways_gatewaywindow")[0][0],
            within=60,
            why="what the gateway says of its trickle",
        )
        family = descendants(first.process.pid)
    finally:
        code = first.end(within=60)
    assert code == 0
    assert gone(family, within=10)

    second = Embedded(first.data_dir, first.port).start()
    try:
        assert second.password == first.password
        assert second.rows("SELECT id FROM runs_run") == [run], "no second first run"
        page = Visitor(second.url).sign_in(second.password).get("/runs/")
        assert "aimd-steady" in page
        (ended,) = second.rows("SELECT status, reason, summary FROM runs_run")
        assert ended[:2] == ("cancelled", "Stopped with headway up, which was told to end.")
        whole = json.loads(ended[2])["cut"]["whole"]
        assert whole["offered"] > 0, "what was measured is kept, warm-up cut or not"
        Visitor(second.url).sign_in(second.password).make_token().api("POST", "/runs", LOAD)
        wait_for(
            lambda: load_processes(descendants(second.process.pid)), within=60, why="more load"
        )
        family = descendants(second.process.pid)
    finally:
        second.end(signal.SIGKILL)
    assert len(family) >= 10
    assert gone(family, within=20), "killed outright, it takes all along, whoever sends load too"


def refused(*args: str) -> str:
    process = command("up", *args)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 30
    return said


def test_a_taken_port_is_one_clear_line(tmp_path: Path, embedded: Embedded) -> None:
    said = refused("--port", str(embedded.port), "--data-dir", str(tmp_path))
    assert said.count("\n") == 1
    assert f"port {embedded.port}" in said
    assert "--port" in said


def test_a_data_directory_that_cant_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = refused("--port", str(free_port()), "--data-dir", str(tmp_path / "file" / "data"))
    assert said.count("\n") == 1
    assert "--data-dir" in said


def test_two_cannot_share_a_data_directory(embedded: Embedded) -> None:
    said = refused("--port", str(free_port()), "--data-dir", str(embedded.data_dir))
    assert "already uses" in said


@pytest.mark.parametrize(
    ("name", "value"),
    [("REDIS_URL", "http://nowhere"), ("HEADWAY_EGRESS", "everything")],
)
def test_a_malformed_setting_stops_the_start_with_its_name_and_an_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setattr("tests.end_to_end.embedded.OURS", ("DJANGO_",))
    monkeypatch.setenv(name, value)
    for other in ("HEADWAY_EMBEDDED", "SECRET_KEY", "HEADWAY_DATA_DIR"):
        monkeypatch.delenv(other, raising=False)
    said = refused("--port", str(free_port()), "--data-dir", str(tmp_path))
    assert name in said
    assert f"Example: {name}=" in said

"""``headway gateway`` as a process: serves, ends in order, and says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engine_process import EngineProcess, engine_process
from tests.gateway.serving import AUTH, document, policy


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineProcess]:
    with engine_process() as process:
        yield process


@contextmanager
def gateway(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "headway", "gateway", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said.startswith("headway gateway: http://127.0.0.1:"), said
    return int(said.split()[2].rsplit(":", 1)[1])


def written(folder: Path, given: dict[str, Any]) -> Path:
    path = folder / "gateway.json"
    path.write_text(json.dumps(given))
    return path


class Stream:
    """One streamed request, read in a thread as far as it comes."""

    def __init__(self, port: int, tokens: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        body = json.dumps(
            {"prompt": "a", "max_tokens": tokens, "ignore_eos": True, "stream": True}
        ).encode()
        top = f"POST /v1/completions HTTP/1.1\r\nhost: g\r\n{AUTH}content-length: {len(body)}"
        self.socket.sendall(f"{top}\r\n\r\n".encode() + body)
        self.data = b""
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        while piece := self.socket.recv(65536):
            self.data += piece

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while self.data.count(b"data: ") < count:
            assert time.monotonic() < deadline, self.data
            time.sleep(0.005)

    def end(self) -> bytes:
        self.thread.join(20)
        self.socket.close()
        return self.data


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_streams_and_the_queue_end_and_takes_nothing_new(
    engine: EngineProcess, tmp_path: Path, number: signal.Signals
) -> None:
    path = written(tmp_path, document(engine.url, policies=(policy(limit=2),)))
    with gateway("--config", str(path), "--port", "0") as process:
        port = port_of(process)
        with socket.create_connection(("127.0.0.1", port)) as resting:
            streams = [Stream(port, 60) for _ in range(4)]
            streams[0].wait_for(2)
            process.send_signal(number)
            assert resting.recv(10) == b""
        answers = [stream.end() for stream in streams]
        assert process.wait(20) == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1)
    for answer in answers:
        assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        assert answer.count(b'"text":') >= 60


def test_what_does_not_end_in_time_is_cut_and_the_engine_freed(
    engine: EngineProcess, tmp_path: Path
) -> None:
    path = written(tmp_path, document(engine.url, policies=(policy(limit=1),)))
    with gateway("--config", str(path), "--port", "0", "--drain-s", "0.3") as process:
        port = port_of(process)
        running = Stream(port, 9000)
        running.wait_for(3)
        queued = Stream(port, 9000)
        time.sleep(0.1)
        told = time.monotonic()
        process.send_signal(signal.SIGTERM)
        cut, refused = running.end(), queued.end()
        assert process.wait(10) == 0
        assert time.monotonic() - told < 10.0
    assert not cut.endswith(b"0\r\n\r\n")
    assert refused.startswith(b"HTTP/1.1 503")
    assert b'"draining"' in refused
    deadline = time.monotonic() + 20
    while engine.metric("vllm:num_requests_running"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_taken_port_is_one_clear_line_and_exit_30(tmp_path: Path) -> None:
    path = written(tmp_path, document("http://127.0.0.1:9"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with gateway("--config", str(path), "--port", str(port)) as process:
            _, errors = process.communicate(timeout=30)
    assert process.returncode == 30
    assert errors.splitlines() == [
        f"headway gateway: port {port} on 127.0.0.1 is taken; choose another with --port"
    ]


def test_a_bad_configuration_is_told_with_every_fault_and_exit_20(tmp_path: Path) -> None:
    bad = document("http://127.0.0.1:9", queue={"bound": -1}, timeouts={"idle_s": 0})
    with gateway("--config", str(written(tmp_path, bad))) as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 20
    assert [line.split(": ")[1] for line in errors.splitlines()] == [
        "queue.bound",
        "timeouts.idle_s",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--config"),
        (("--config", "nowhere.yaml"), "nowhere.yaml"),
        (("--control-plane", "http://127.0.0.1:9"), "HEADWAY_GATEWAY_TOKEN"),
    ],
)
def test_what_is_missing_is_named(arguments: tuple[str, ...], says: str) -> None:
    with gateway(*arguments, HEADWAY_GATEWAY_TOKEN="") as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode in (20, 30)
    assert says in errors


def test_it_starts_without_its_control_plane_from_what_it_kept(
    engine: EngineProcess, tmp_path: Path
) -> None:
    kept = {"etag": '"1"', "document": document(engine.url)}
    (tmp_path / "config.json").write_text(json.dumps(kept))
    arguments = ("--control-plane", "http://127.0.0.1:9", "--name", "edge", "--port", "0")
    token = {"HEADWAY_GATEWAY_TOKEN": "hwg_secret"}
    with gateway(*arguments, "--state-dir", str(tmp_path), **token) as process:
        port = port_of(process)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
            assert json.load(answer) == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "hwg_secret" not in out + errors
    assert list((tmp_path / "telemetry").glob("*.json"))


def test_a_signal_ends_it_while_it_waits_for_its_first_configuration(tmp_path: Path) -> None:
    arguments = ("--control-plane", "http://127.0.0.1:9", "--name", "edge")
    token = {"HEADWAY_GATEWAY_TOKEN": "t"}
    with gateway(*arguments, "--state-dir", str(tmp_path), **token) as process:
        assert process.stderr is not None
        assert "does not answer" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0

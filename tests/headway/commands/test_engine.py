"""``headway engine`` as a process: it says where it is, and ends when told."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

RUN = (
    "import argparse, sys; from headway.commands import engine; "
    "parser = argparse.ArgumentParser(); engine.add_arguments(parser); "
    "sys.exit(engine.run(parser.parse_args()))"
)


@contextmanager
def engine(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said.startswith("headway engine: http://127.0.0.1:"), said
    return said.split()[2]


def fetch(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        text: str = answer.read().decode()
    return text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_a_second_even_amid_a_stream(number: signal.Signals) -> None:
    with engine("--port", "0") as process:
        host, port = url_of(process).removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            body = b'{"prompt": "a", "max_tokens": 9000, "ignore_eos": true, "stream": true}'
            client.sendall(
                b"POST /v1/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body
            )
            assert client.recv(100).startswith(b"HTTP/1.1 200 OK")
            told = time.monotonic()
            process.send_signal(number)
            assert process.wait(10) == 0
            assert time.monotonic() - told < 5.0  # five times slack
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_taken_port_is_one_clear_line_and_exit_30() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with engine("--port", str(port)) as process:
            _, errors = process.communicate(timeout=30)
    assert process.returncode == 30
    assert errors.splitlines() == [
        f"headway engine: port {port} on 127.0.0.1 is taken; choose another with --port"
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--profile", "gpt-2"), "profile: unknown"),
        (("--fault", "stal=0.5"), "did you mean 'stall'"),
        (("--fault", "stall"), "must be NAME=VALUE"),
        (("--blocks", "10"), "must fit the KV cache"),
    ],
)
def test_a_bad_argument_is_told_and_exits_20(arguments: tuple[str, ...], told: str) -> None:
    with engine("--port", "0", *arguments) as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 20
    assert told in errors
    assert "Traceback" not in errors


def test_options_reach_the_engine() -> None:
    arguments = ("--model", "mine", "--blocks", "3000", "--fault", "rate_limit=1.0")
    with engine("--port", "0", *arguments) as process:
        url = url_of(process)
        page = fetch(f"{url}/metrics")
        faults = fetch(f"{url}/faults")
    assert 'num_gpu_blocks="3000"' in page
    assert 'model_name="mine"' in page
    assert '"rate_limit": 1.0' in faults


def test_profiles_are_listed() -> None:
    with engine("--list-profiles") as process:
        listed, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert listed.splitlines()[-1].startswith("qwen3-32b-rtxpro6000-tp2")

"""``headway gate`` against a server that answers as it is told: every exit code, every file."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from headway.__main__ import _Parser, main
from headway.commands import gate
from headway.gating.shell import run_gate
from headway.gating.waiting import Patience
from measurement.verdict import EXIT_CODES
from tests.conftest import free_port
from tests.headway.gating.fake_server import RUN, FakeServer, live, over

TOKEN = "hw_secret-of-the-test"
BRIEF = Patience(away=0.3, first=0.01, longest=0.05)
"""For a server that never comes back."""
BACK = Patience(away=60.0, first=0.01, longest=0.05)
"""For one that does, on a machine however busy."""


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_TOKEN", TOKEN)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


def arguments(*words: str) -> argparse.Namespace:
    parser = _Parser()
    gate.add_arguments(parser)
    return parser.parse_args(words)


def called(server: FakeServer, *words: str, patience: Patience = BRIEF) -> int:
    args = arguments("run", "chat", "--server", server.url, *words)
    return run_gate(args, patience=patience)


def problem(status: int, kind: str, *errors: str) -> tuple[int, Any, dict[str, str]]:
    said: dict[str, Any] = {"type": f"urn:headway:problem:{kind}", "detail": f"It is {kind}."}
    if errors:
        said["errors"] = [{"pointer": "#", "detail": text} for text in errors]
    return status, said, {}


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("pass", 0),
        ("fail", 10),
        ("regression", 11),
        ("inconclusive", 12),
        ("invalid", 13),
        ("infrastructure", 30),
        ("cancelled", 130),
    ],
)
def test_it_ends_with_the_verdicts_exit_code(
    outcome: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert EXIT_CODES[outcome] == code
    with FakeServer(gets=[(200, live(), {}), (200, over(outcome, code), {})]) as server:
        assert called(server) == code
    out = capsys.readouterr().out
    assert "gate chat: Fails because 95.00 % met" in out
    assert f"{server.url}/runs/0198/" in out


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (problem(401, "not-authenticated"), 21, "It is not-authenticated."),
        (problem(403, "denied"), 21, "It is denied."),
        (problem(404, "not-found"), 20, "It is not-found."),
        (problem(422, "invalid-document", "policy: no such"), 20, "policy: no such"),
        (problem(422, "target-not-allowed", "endpoint: 10.0.0.1"), 22, "endpoint: 10.0.0.1"),
        ((302, {}, {"Location": "https://x.example/"}), 20, "redirects to https://x.example/"),
        ((404, b"<html>", {}), 20, "is it a Headway server?"),
        (problem(503, "away"), 30, "answers 503"),
    ],
)
def test_a_refusal_has_its_own_code_and_says_why(
    answer: Any, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(posts=[answer]) as server:
        assert called(server) == code
    assert said in capsys.readouterr().err


def test_a_server_that_is_away_ends_with_30_and_a_clear_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    args = arguments("run", "chat", "--server", f"http://127.0.0.1:{free_port()}")
    assert run_gate(args, patience=BRIEF) == 30
    err = capsys.readouterr().err
    assert "headway gate: http://127.0.0.1:" in err
    assert "gives no answer" in err


def test_a_start_that_got_no_answer_is_asked_again_under_the_same_key() -> None:
    busy = problem(409, "conflict")
    with FakeServer(posts=[problem(502, "bad-gateway"), busy, (202, live(), {})]) as server:
        assert called(server, patience=BACK) == 0
    keys = [one.headers["Idempotency-Key"] for one in server.asked if one.method == "POST"]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_server_that_restarts_meanwhile_is_waited_for() -> None:
    gets = [problem(503, "restarting"), problem(500, "oh"), (200, over("pass", 0), {})]
    with FakeServer(gets=gets) as server:
        assert called(server, patience=BACK) == 0


def test_it_long_polls_and_sends_the_token_in_the_header_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with FakeServer() as server:
        called(server, "--policy", "steady@3", "--json", str(tmp_path / "x.json"))
    start, look = server.asked
    assert start.path == "/api/v1/gates/chat/runs"
    assert start.body == {"policy": "steady@3"}
    assert look.path == f"/api/v1/gates/chat/runs/{RUN}?wait=10"
    assert {one.headers["Authorization"] for one in server.asked} == {f"Bearer {TOKEN}"}
    said = capsys.readouterr()
    assert TOKEN not in said.out + said.err + (tmp_path / "x.json").read_text()


def test_progress_is_told_and_quiet_keeps_it(capsys: pytest.CaptureFixture[str]) -> None:
    latency = {"p99": None, "rough": {"p99": 812.4}, "n": 40}
    totals = {"offered": 400, "in_flight": 8, "waiting": 0, "attainment": 0.99}
    totals |= {"ttft_ms": latency, "errors": 1, "rejected": 0}
    so_far = {"verdict": {"outcome": "inconclusive"}, "totals": totals}
    gets = [(200, live(so_far=so_far, elapsed_s=20.0), {}), (200, over("pass", 0), {})]
    with FakeServer(gets=list(gets)) as server:
        called(server)
    err = capsys.readouterr().err
    assert "20 s · 40 s left · offered 400" in err
    assert "TTFT P99 ~812 ms · errors 1 · so far inconclusive" in err
    with FakeServer(gets=list(gets)) as server:
        called(server, "--quiet")
    assert capsys.readouterr().err == ""


def test_the_reports_are_written_whole(tmp_path: Path) -> None:
    files = {name: tmp_path / f"headway.{name}" for name in ("junit", "json", "markdown")}
    words = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    with FakeServer(gets=[(200, over("fail", 10), {})]) as server:
        assert called(server, *words) == 10
    [failure] = ET.parse(files["junit"]).iter("failure")  # noqa: S314 - our own text
    assert "objective: TTFT ≤ 800 ms" in failure.attrib["message"]
    assert json.loads(files["json"].read_text())["exit_code"] == 10
    assert files["markdown"].read_text().startswith("<!-- headway:gate:chat -->")


def test_on_github_what_failed_is_annotated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    evil = over("fail", 10, because="a\n::stop-commands::x")
    with FakeServer(gets=[(200, evil, {})]) as server:
        called(server)
    lines = capsys.readouterr().out.splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert all(line.startswith("::error title=chat") for line in commands)
    assert len(commands) == 2


def test_a_deadline_cancels_the_run_and_is_no_verdict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    nothing = live(objectives=[], thresholds=[])
    with FakeServer(posts=[(202, nothing, {})], gets=[(200, nothing, {})]) as server:
        code = called(server, "--timeout", "300ms", "--junit", str(tmp_path / "x.xml"))
    assert code == 30
    assert server.cancelled.is_set()
    assert "No verdict within 0.3 s. The run is cancelled." in capsys.readouterr().out
    [error] = ET.parse(tmp_path / "x.xml").iter("error")  # noqa: S314 - our own text
    assert error.attrib["type"] == "infrastructure"


def test_ctrl_c_cancels_the_run_it_started_and_ends_with_130() -> None:
    with FakeServer(gets=[(200, live(), {})]) as server:
        argv = [sys.executable, "-m", "headway", "gate", "run", "chat", "--server", server.url]
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert server.polled.wait(20)
        child.send_signal(signal.SIGINT)
        out, _err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert server.cancelled.is_set()
    assert "CANCELLED  gate chat: Stopped by a signal. The run is cancelled." in out


@pytest.mark.parametrize(
    ("token", "said"), [("", "HEADWAY_TOKEN is not set"), ("hw_a\r\nX: y", "other characters")]
)
def test_without_a_token_nothing_is_asked(
    token: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADWAY_TOKEN", token)
    with FakeServer() as server:
        assert called(server) == 21
        assert not server.asked
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["gate"],
        ["gate", "run", "chat"],
        ["gate", "run", "chat", "--server", "x", "--timeout", "soon"],
    ],
)
def test_faults_in_arguments_are_bad_configuration(words: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 20


def test_what_can_t_be_used_is_found_before_a_run_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer() as server:
        assert called(server, "--junit", str(tmp_path / "away" / "x.xml")) == 20
        assert run_gate(arguments("run", "chat", "--server", "ftp://x"), patience=BRIEF) == 20
        assert not server.asked
    assert "is its folder there?" in capsys.readouterr().err


def test_a_proxy_of_the_environment_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "http_proxy", f"http://127.0.0.1:{free_port()}")
    with FakeServer() as server:
        assert called(server) == 0


def test_the_list_tells_each_gate_with_its_newest_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        {"slug": "chat", "latest": {"number": 3}, "last_run": {"outcome": "pass"}},
        {"slug": "batch", "latest": {"number": 1}, "last_run": None},
    ]
    pages = [
        (200, {"results": rows[:1], "next": "http://elsewhere.example/x?cursor=abc"}, {}),
        (200, {"results": rows[1:], "next": None}, {}),
    ]
    with FakeServer(gets=pages) as server:
        assert main(["gate", "list", "--server", server.url]) == 0
    assert [one.path for one in server.asked] == [
        "/api/v1/gates?page_size=200",
        "/api/v1/gates?cursor=abc",
    ]
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["chat", "v3", "pass"]
    assert second.split() == ["batch", "v1", "never", "run"]

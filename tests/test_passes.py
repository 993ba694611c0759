"""Every test runs, once; and what runs beside others takes nothing from them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import passes
from tests.conftest import HERE, PASSES, pass_of
from tests.passes import Pass

GIVES_WAY = "import os, tests.passes as p; p.give_way(); "
ALL = [*passes.first([]), *passes.beside([]), *passes.last([])]


def test_each_pass_of_the_lists_is_run_once() -> None:
    run = [each.words[2] for each in ALL if each.words[0] == "pytest"]
    assert sorted(run) == sorted(PASSES)


def test_each_place_in_the_lists_is_there() -> None:
    places = [place for listed in PASSES.values() for place in listed]
    assert [place for place in places if not (HERE / place).exists()] == []
    assert len(places) == len(set(places))


def test_the_most_exact_place_says_when_a_file_runs() -> None:
    assert pass_of(HERE / "loadtest" / "ab" / "test_over_http.py") == "alone"
    assert pass_of(HERE / "loadtest" / "ab" / "test_comparing.py") == "unhurried"
    assert pass_of(HERE / "headway" / "test_ab.py") == "prompt"


def test_what_runs_beside_has_only_time_that_nobody_else_wants() -> None:
    code = GIVES_WAY + "print(os.sched_getscheduler(0))"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE.parent
    )
    assert int(ended.stdout) == os.SCHED_IDLE


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three programs where the passes look for theirs."""
    monkeypatch.setattr(passes, "BIN", tmp_path)
    for name, code in (("good", 0), ("bad", 3), ("nothing", 5)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_one_pass_that_fails_fails_all_and_stops_none(
    commands: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert passes.run_all([Pass("a", ("bad",)), Pass("b", ("good",))]) == 1
    said = capfd.readouterr().out
    assert "== a FAILED with exit code 3" in said
    assert "== b passed" in said


def test_a_pass_without_tests_passes_only_where_some_were_asked_for(commands: Path) -> None:
    assert Pass("a", ("nothing",), asked=("-k", "x")).run()
    assert not Pass("a", ("nothing",)).run()


def test_what_fails_beside_is_printed_and_counts(capfd: pytest.CaptureFixture[str]) -> None:
    with passes.in_idle_time([sys.executable, "-c", "print('one failed'); exit(3)"]) as over:
        assert over() == 1
    assert "one failed" in capfd.readouterr().out


RISES = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).touch()
until = time.monotonic() + 2.0
while os.sched_getscheduler(0) and time.monotonic() < until:
    time.sleep(0.01)
print("scheduler", os.sched_getscheduler(0))
"""


def test_what_is_left_of_it_takes_part_when_it_is_its_turn_where_we_may(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    with passes.in_idle_time([sys.executable, "-c", GIVES_WAY + RISES, str(ready)]) as over:
        while not ready.exists():
            time.sleep(0.01)
        assert over() == 0
    mine = os.SCHED_OTHER if os.geteuid() == 0 else os.SCHED_IDLE
    assert f"scheduler {mine}" in capfd.readouterr().out


def test_what_runs_beside_ends_with_what_it_was_beside() -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        passes.in_idle_time([sys.executable, "-c", "import time; time.sleep(600)"]),
    ):
        raise KeyboardInterrupt

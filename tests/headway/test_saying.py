"""A command's report and its reader: slow, gone, or one that never reads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from headway.running.saying import report, say

LONG = "0123456789abcde\n" * 20_000
"""More than a pipe holds."""


@contextmanager
def pipe() -> Iterator[tuple[int, TextIO]]:
    """Its reading end, and its writing end as a stream."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream:
        try:
            yield reader, stream
        finally:
            os.close(reader)


def everything(reader: int, to: list[bytes]) -> threading.Thread:
    """Takes a little at a time, until the other end is closed."""

    def read() -> None:
        while piece := os.read(reader, 1_000):
            to.append(piece)

    thread = threading.Thread(target=read)
    thread.start()
    return thread


def test_a_report_that_nobody_reads_is_given_up_and_where_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pipe() as (_, stream):
        monkeypatch.setattr(sys, "stdout", stream)
        assert not report(LONG, name="run", kept="it is in run-1/summary.json", patience=0.05)
        assert say(LONG, stream, patience=0.05) is None, "what is written after that goes nowhere"
    told = capsys.readouterr().err
    assert told == (
        "headway run: the report can't be written: whoever should read it took nothing for "
        "0.05 s; it is in run-1/summary.json\n"
    )


@pytest.mark.parametrize("blocking", [True, False])
def test_a_slow_reader_gets_all_of_it(monkeypatch: pytest.MonkeyPatch, *, blocking: bool) -> None:
    found: list[bytes] = []
    reader, writer = os.pipe()
    os.set_blocking(writer, blocking)
    with os.fdopen(writer, "w") as stream:
        thread = everything(reader, found)
        monkeypatch.setattr(sys, "stdout", stream)
        assert report(LONG, name="run")
    thread.join()
    os.close(reader)
    assert b"".join(found).decode() == LONG


def test_a_reader_who_left_had_what_it_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert report(LONG, name="run")
    assert capsys.readouterr().err == ""


def test_a_disk_that_is_full_is_told_by_a_command_whose_only_result_it_is() -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "headway", "simulate", "--rate", "1", "--duration", "2s"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert ran.returncode == 30
    assert "headway simulate: the report can't be written: [Errno 28]" in ran.stderr


def test_a_list_cut_short_by_its_reader_keeps_its_exit_code() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-m", "headway", "profiles", "list"],
        stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )  # fmt: skip
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, "")

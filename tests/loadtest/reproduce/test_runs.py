"""Runs beside each other, and runs that are kept: the same numbers as one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from documents.problem import DocumentError
from loadtest.reproduce import mixed_lengths, retry_storm
from loadtest.reproduce.kept import Kept
from loadtest.reproduce.plan import Plan, measure
from loadtest.reproduce.processes import Processes, part
from loadtest.reproduce.runs import OneByOne
from loadtest.reproduce.watched import Watch

REDUCED = Plan((1, 2), reduced=True)
OF = {"system": "small", "reduced": False}


def _square(counted: list[int], seed: int) -> dict[str, float]:
    counted.append(seed)
    return {"square": seed**2, "never": float("inf")}


def _sleeping(processes: Processes) -> None:
    processes.begin(time.sleep, (600,), lambda _seed, _numbers: None)  # type: ignore[arg-type]
    raise ZeroDivisionError


def test_processes_give_the_numbers_of_one_run_after_the_other() -> None:
    with Processes(2) as processes:
        watch = Watch(REDUCED.seeds, 9, processes.parts)
        beside = replace(REDUCED, runner=processes, ended=watch.ended, part=part)
        for play in (mixed_lengths.play, retry_storm.play):
            assert play(beside) == play(REDUCED)
    assert (watch.runs, watch.done) == (18, 18.0)


def test_a_block_of_processes_that_fails_waits_for_no_run() -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError), Processes(1) as processes:
        _sleeping(processes)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("cut", [0, 3])
def test_a_play_that_was_cut_off_makes_the_runs_that_are_missing(cut: int, tmp_path: Path) -> None:
    path, counted = tmp_path / "small.runs.jsonl", list[int]()
    play = partial(_square, counted)

    def once(seeds: Sequence[int]) -> list[dict[str, tuple[float, ...]]]:
        plan = Plan(seeds, runner=Kept(OneByOne(), path, OF))
        passes = [measure(plan, play), measure(plan, play)]
        return [{key: series.values for key, series in one.items()} for one in passes]

    first = once((1, 2))
    assert counted == [1, 2, 1, 2]
    if cut:
        path.write_text(path.read_text("utf-8")[:-cut], "utf-8")  # killed within its last line
    counted.clear()
    assert once((1, 2)) == first
    assert counted == [2] * bool(cut)
    counted.clear()
    assert [one["square"] for one in once((1, 2, 3))] == [(1.0, 4.0, 9.0)] * 2
    assert counted == [3, 3]


def test_kept_runs_of_another_play_are_refused_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "small.runs.jsonl"
    measure(Plan((1,), runner=Kept(OneByOne(), path, OF)), partial(_square, []))
    before = path.read_text("utf-8")
    with pytest.raises(DocumentError, match="holds runs of system small, reduced False, not of"):
        Kept(OneByOne(), path, OF | {"reduced": True})
    assert path.read_text("utf-8") == before
    path.write_text("[]\n", "utf-8")
    with pytest.raises(DocumentError, match="holds no runs of a play"):
        Kept(OneByOne(), path, OF)

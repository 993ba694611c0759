"""Progress of a run, told to whoever reads it and to whoever doesn't."""

from __future__ import annotations

import os
from io import StringIO
from types import SimpleNamespace
from typing import cast

from headway.running.progress import Progress, line
from loadtest.conclusion import Conclusion
from loadtest.news import News
from measurement.cohort import Cohort
from measurement.events import Events
from measurement.live import Live
from measurement.validity import Validity
from measurement.verdict import judge
from measurement.window import Window


def noted(text: str) -> Conclusion:
    return cast("Conclusion", SimpleNamespace(notes=(text,)))


def test_a_pipe_that_nobody_reads_holds_nothing_up() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream, os.fdopen(reader, "rb") as read:
        progress = Progress(stream=stream)
        os.set_blocking(writer, False)
        while True:
            try:
                os.write(writer, b"x" * 4096)
            except BlockingIOError:
                break
        os.set_blocking(writer, True)

        progress.concluded(noted("missed"))  # would wait for ever
        read.read1(1 << 20)
        progress.concluded(noted("told"))

        assert read.read1(1 << 20) == b"told\n"


def test_what_makes_a_run_invalid_is_told_once_as_it_happens() -> None:
    live = Live(None, duration=60.0)
    lost = Validity().worsened(["Worker 1 of 2 was killed."])
    stream = StringIO()
    progress = Progress(stream=stream)
    for validity in (Validity(), lost, lost):
        totals = {**live.totals(), "in_flight": 0, "waiting": 0}
        verdict = judge(live.tally, None, validity)
        progress.news(News(1.0, (), (), verdict, totals, signals_missing=None))
    assert stream.getvalue().count("Worker 1 of 2 was killed.") == 1
    assert len(stream.getvalue().splitlines()) == 4


def test_all_that_was_offered_is_counted_and_warm_up_is_marked() -> None:
    live = Live(None, duration=60.0, since=2.0)
    totals: dict[int, dict[str, object]] = {}
    for second in range(4):
        cohort = Cohort(offered=10)
        live.update([Window(second, float(second), 1.0, 1, False, Events(), cohort)])
        live.update([Window(second, float(second), 1.0, 2, True, Events(), cohort)])
        totals[second + 1] = {**live.totals(), "in_flight": 10, "waiting": 0}
    assert " · warm-up, not judged · offered 10 · in flight 10" in line(1.0, totals[1], 60.0)
    assert "56 s left · offered 40 (20 in warm-up) · in flight" in line(4.0, totals[4], 60.0)
    before_it_was_told = {"offered_in_warm_up": None, "warm_up_s": None}
    assert " · offered 20 · in flight" in line(4.0, totals[4] | before_it_was_told, 60.0)

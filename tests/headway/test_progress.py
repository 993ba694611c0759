"""Progress of a run, told to whoever reads it and to whoever doesn't."""

from __future__ import annotations

import os
from io import StringIO
from types import SimpleNamespace
from typing import cast

from headway.running.progress import Progress
from loadtest.conclusion import Conclusion
from loadtest.news import News
from measurement.live import Live
from measurement.validity import Validity
from measurement.verdict import judge


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

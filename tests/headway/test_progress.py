"""Progress of a run, told to whoever reads it and to whoever doesn't."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import cast

from headway.running.progress import Progress
from loadtest.conclusion import Conclusion


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

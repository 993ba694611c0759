"""How far a play is, on stderr: one line that is written over, or one a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from loadtest.reproduce.watched import Watch

TERMINAL_S, LOG_S = 1.0, 60.0


@contextmanager
def shown(
    name: str, watch: Watch, stream: TextIO, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Tell it every second to a terminal, every minute to anything else, until the block ends."""
    began, over, live = clock(), threading.Event(), stream.isatty()

    def tell() -> None:
        while not over.wait(TERMINAL_S if live else LOG_S):
            line = said(name, watch, clock() - began)
            stream.write(f"\r\x1b[K{line}" if live else f"{line}\n")
            stream.flush()

    teller = threading.Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        if live:
            stream.write("\r\x1b[K")
            stream.flush()


def said(name: str, watch: Watch, seconds: float) -> str:
    """How many runs with a seed there were, how long they took, and what is left."""
    done = watch.done
    left = f", about {_clock(seconds * (watch.of - done) / done)} left" if done else ""
    return f"{name}: {done:.1f} of {watch.of} runs with a seed, {_clock(seconds)}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

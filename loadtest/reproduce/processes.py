"""Runs in processes beside this one, as many at a time as there are cores to use."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from loadtest.reproduce.runs import Ended, Numbers, Play, Result

_RARELY = 100_000
"""New objects between two looks for cycles, of which a run makes next to none: a tenth of its time
goes into looking after each 700."""

_shares: Any = None
_place = 0
"""In a process of the pool: where it tells how far its run is."""


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Processes:
    """``jobs`` of them, which are begun when there is something to run and end with the block.

    What they run must be picklable: a module's function, or a partial of one. Left by an error or
    by an interrupt the block doesn't wait for runs that go on; nor does one outlive this process.
    """

    def __init__(self, jobs: int) -> None:
        # A thread tells progress meanwhile, and a fork would copy the locks that it holds.
        context = multiprocessing.get_context("spawn")
        self._shares = context.Array("d", jobs)
        self._watched, self._held = context.Pipe(duplex=False)
        given = (self._shares, context.Value("i", 0), self._watched)
        self._pool = ProcessPoolExecutor(jobs, context, initializer=_settle, initargs=given)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._held.close()
        self._pool.shutdown(cancel_futures=True)
        self._held.close()
        self._watched.close()

    def begin(self, play: Play, seeds: Sequence[int], ended: Ended) -> Result:
        """Queue them."""
        runs = [self._pool.submit(_run, play, seed) for seed in seeds]
        for seed, run in zip(seeds, runs, strict=True):
            run.add_done_callback(partial(_tell, seed, ended))
        return lambda: [run.result() for run in runs]

    def parts(self) -> float:
        """Runs that go on, each by its share that is over."""
        return float(sum(self._shares[:]))


def part(share: float) -> None:
    """What share of the run that this process makes is over."""
    if _shares is not None:
        _shares[_place] = share


def _tell(seed: int, ended: Ended, run: Future[Numbers]) -> None:
    if not run.cancelled() and run.exception() is None:
        ended(seed, run.result())


def _run(play: Play, seed: int) -> Numbers:
    try:
        return dict(play(seed))
    finally:
        part(0.0)


def _settle(shares: Any, settled: Any, watched: Connection) -> None:
    """A process begins: it takes its place, and ends as soon as nobody holds the other end."""
    global _shares, _place  # noqa: PLW0603 - this process is the pool's alone
    with settled.get_lock():
        _place = settled.value % len(shares)
        settled.value += 1
    _shares = shares
    gc.set_threshold(_RARELY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's goes to all; one of us answers
    threading.Thread(target=_end_with, args=(watched,), name="tether", daemon=True).start()


def _end_with(watched: Connection) -> None:
    with suppress(EOFError, OSError):
        watched.recv_bytes()
    os._exit(1)

"""What the engine says of itself and of its tokens, into the windows of a simulation."""

from __future__ import annotations

from array import array

import numpy as np

from measurement.window import WindowFold
from simulator.core.engine import Engine
from simulator.core.request import Sequence
from simulator.core.step import Stretch


class Watching:
    """``deadline``: what is said past it nobody heard. Times are seconds from the start."""

    def __init__(self, engine: Engine, fold: WindowFold, deadline: float) -> None:
        self._engine = engine
        self._fold = fold
        self._deadline = deadline
        self._signalled = 0
        """The first window that has no signals of the engine yet."""

    @property
    def ends(self) -> array[float]:
        """When each of the engine's steps ended."""
        ends = self._engine.state.decoding.ends
        assert ends is not None  # noqa: S101 - the engine keeps them
        return ends

    def edge(self, at: float) -> float:
        """The end of the window: no stretch goes past it, so that each has the engine's signals."""
        width = self._fold.width
        return (at // width + 1) * width

    def idle(self, until: float) -> None:
        """The engine had nothing to do since its last step: whole windows of that say so."""
        self._signals_until(min(until, self._deadline), 0, len(self._engine.waiting), 0.0)

    def ended(self, stretch: Stretch) -> None:
        """Steps are over."""
        fold, usage = self._fold, stretch.used_blocks / self._engine.pool.usable
        self._signals_until(stretch.end, stretch.running, stretch.waiting, usage)
        fold.signals(stretch.end, stretch.running, stretch.waiting, usage)
        self._signalled = int(stretch.end // fold.width) + 1

    def tokens(self, stretch: Stretch) -> None:
        """Into the windows in which they were said."""
        fold, width = self._fold, self._fold.width
        if not stretch.tokens:
            return
        if stretch.steps == 1 or stretch.start // width == stretch.end // width:
            if stretch.end <= self._deadline:
                fold.tokens(stretch.end, stretch.tokens)
            return
        each = stretch.tokens // stretch.steps
        ends = np.array(self.ends[-stretch.steps :])
        ends = ends[ends <= self._deadline]
        windows, counts = np.unique(ends // width, return_counts=True)
        for window, count in zip(windows.tolist(), counts.tolist(), strict=True):
            fold.tokens((window + 0.5) * width, count * each)

    def unheard(self, sequence: Sequence, since: float) -> None:
        """Its client has gone: what the engine's last step would still have said is taken back."""
        for at in reversed(sequence.token_times(self.ends)):
            if at <= since:
                return
            if at <= self._deadline:
                self._fold.tokens(at, -1)

    def _signals_until(self, until: float, running: int, waiting: int, usage: float) -> None:
        """For each whole window that has none yet."""
        fold = self._fold
        first, last = self._signalled, int(until // fold.width)
        for index in range(first, last):
            fold.signals(index * fold.width, running, waiting, usage)
        self._signalled = max(first, last)

"""How a simulation goes, told about once a second of real time, in the words of a load test."""

from __future__ import annotations

import time
from collections.abc import Callable

from loadtest.execution import Observer
from loadtest.news import News, Sums
from loadtest.outline import Outline
from loadtest.recorder import Recorder
from loadtest.scenario import Scenario
from measurement.live import Live
from measurement.window import Window, WindowFold
from schedulers.decision import Decision

EVERY_S = 1.0
AT_ONCE = 300
"""Windows in one piece of news: thousands may have passed in a second."""


class Progress:
    """``clock`` is real time, in seconds. Windows go to the recorder as they are told."""

    def __init__(
        self,
        scenario: Scenario,
        fold: WindowFold,
        recorder: Recorder | None,
        observer: Observer | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._live = Live(scenario.slo, duration=scenario.duration_s, since=scenario.warm_up_s)
        self._sums = Sums(self._live)
        self._fold = fold
        self._recorder = recorder
        self._observer = observer
        self._clock = clock
        self._told_at = clock()
        self._decisions: list[Decision] = []
        self._outlines: dict[int, Outline] = {}

    def decision(self, decision: Decision) -> None:
        """A law decided; told with the next news."""
        if self._observer is not None:
            self._decisions.append(decision)

    def passed(self, now: float) -> None:
        """The simulation has come to ``now``; tells what is new if it is time to."""
        if self._observer is not None and self._clock() - self._told_at >= EVERY_S:
            self._tell(self._fold.changed(now), now)

    def finish(self, now: float) -> list[Outline]:
        """The last word; every window in its newest revision, in outline."""
        self._tell(self._fold.finish(now), now, last=True)
        return [outline for _, outline in sorted(self._outlines.items())]

    def _tell(self, windows: list[Window], now: float, *, last: bool = False) -> None:
        self._outlines.update((window.index, Outline.of(window)) for window in windows)
        if self._recorder is not None:
            self._recorder.flush()
            self._recorder.windows(windows)
        if self._observer is None:
            return
        decisions, self._decisions = tuple(self._decisions), []
        starts = range(0, max(1, len(windows)), AT_ONCE)
        pieces = [tuple(windows[at : at + AT_ONCE]) for at in starts]
        for place, piece in enumerate(pieces, 1):
            self._live.update(piece)
            verdict, totals = self._sums.now(last=last and place == len(pieces))
            at = now if place == len(pieces) else piece[-1].end
            self._observer.news(News(at, piece, decisions, verdict, totals, None))
            decisions = ()
        self._told_at = self._clock()

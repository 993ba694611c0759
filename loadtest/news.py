"""The news of a run, once a second: windows that changed, live totals, the verdict so far."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engines.signals_feed import SignalsFeed
from loadtest.driver import Driver
from loadtest.recorder import Recorder
from loadtest.runclock import RunClock
from loadtest.scenario import Scenario
from measurement.live import Live
from measurement.verdict import Verdict
from measurement.window import Window, WindowFold
from schedulers.decision import Decision
from schedulers.runtime.limiter import Limiter

_AFTER = 0.02
"""Seconds past the full second: what happened just before its end is in by then."""


@dataclass(frozen=True, slots=True)
class News:
    """``at`` is in seconds from the start. ``signals_missing`` None: the kind has none."""

    at: float
    windows: tuple[Window, ...]
    decisions: tuple[Decision, ...]
    verdict: Verdict
    totals: dict[str, Any]
    signals_missing: bool | None


class Newsroom:
    """Takes what changed out of the fold, to disk first and to the observer then."""

    def __init__(
        self,
        scenario: Scenario,
        fold: WindowFold,
        recorder: Recorder,
        driver: Driver,
        limiter: Limiter | None,
    ) -> None:
        self._live = Live(
            scenario.slo, duration=scenario.duration_s, since=scenario.warm_up_s
        )
        self._fold = fold
        self._recorder = recorder
        self._driver = driver
        self._limiter = limiter
        self._decisions: list[Decision] = []

    def decision(self, decision: Decision) -> None:
        """A law decided; told with the next news."""
        self._decisions.append(decision)

    async def each_second(
        self, clock: RunClock, tell: Callable[[News], None], feed: SignalsFeed
    ) -> None:
        """Tell just after each full second of the run, until cancelled."""
        while True:
            second = max(0, math.floor(clock())) + 1
            await asyncio.sleep(second + _AFTER - clock())
            tell(self._news(self._fold.changed(clock()), clock(), feed))

    def last(self, now: float, feed: SignalsFeed) -> News:
        """The last word: every window that is not out yet."""
        return self._news(self._fold.finish(max(0.0, now)), now, feed)

    def _news(self, windows: list[Window], at: float, feed: SignalsFeed) -> News:
        self._recorder.windows(windows)
        self._recorder.flush()
        self._live.update(windows)
        decisions, self._decisions = tuple(self._decisions), []
        return News(
            at=at,
            windows=tuple(windows),
            decisions=decisions,
            verdict=self._live.verdict(),
            totals=self._totals(),
            signals_missing=feed.stale if feed.supported else None,
        )

    def _totals(self) -> dict[str, Any]:
        limiter = self._limiter
        return {
            **self._live.totals(),
            "in_flight": self._driver.in_flight,
            "waiting": limiter.waiting if limiter else 0,
            "limit": limiter.limit if limiter else None,
        }

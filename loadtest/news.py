"""The news of a run, once a second: windows that changed, live totals, the verdict so far.

What changed is taken out of the fold on the load's event loop, which is quick. Writing, summing
up, judging and telling happen in a thread of their own, and the sums are made anew only as often
as leaves that thread idle most of the time, however long the run is.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from engines.signals_feed import SignalsFeed
from loadtest.recorder import Recorder
from loadtest.runclock import RunClock
from loadtest.scenario import Scenario
from loadtest.shadowing import ShadowNews
from measurement.because import because
from measurement.doubted import NOTHING, Doubted
from measurement.live import Live
from measurement.objective_verdict import INVALID
from measurement.sample import Sample
from measurement.tally import Tally
from measurement.validity import Validity
from measurement.verdict import Verdict
from measurement.window import Window, WindowFold
from schedulers.decision import Decision, DecisionPoint

DOUBTED = "doubted"
"""Among the totals: first tokens that may be late for the client's own cause, so far."""
_AFTER = 0.02
"""Seconds past the full second: what happened just before its end is in by then."""
_TOLD = 20
"""Decisions of each point but concurrency that one news tells; the trace's file has them all."""
_IDLE = 20.0
"""Sums are made anew after this many times what they cost."""


@dataclass(frozen=True, slots=True)
class News:
    """``at`` is in seconds from the start. ``signals_missing`` None: the kind has none."""

    at: float
    windows: tuple[Window, ...]
    decisions: tuple[Decision, ...]
    verdict: Verdict
    totals: dict[str, Any]
    signals_missing: bool | None
    shadow: ShadowNews | None = None


@dataclass(frozen=True, slots=True)
class _Caught:
    """What was taken out of the load's event loop at one moment."""

    at: float
    windows: tuple[Window, ...]
    decisions: tuple[Decision, ...]
    gauges: dict[str, Any]
    signals_missing: bool | None
    shadow: ShadowNews | None


class Sums:
    """Live totals and the verdict so far, made anew only as often as they leave time for."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._found: tuple[Verdict, dict[str, Any]] | None = None
        self._again_at = 0.0

    def now(self, *, last: bool = False) -> tuple[Verdict, dict[str, Any]]:
        """The newest; the ``last`` are made anew whatever they cost."""
        began = time.monotonic()
        if self._found is None or last or began >= self._again_at:
            self._found = (self._live.verdict(), self._live.totals())
            cost = time.monotonic() - began
            self._again_at = began + _IDLE * cost
        return self._found


def doubts(gauges: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What the answers so far say against the client, of one process or of several."""
    said = [Doubted(**one[DOUBTED]) for one in gauges if one.get(DOUBTED)]
    sentence = sum(said, NOTHING).sentence("first token", "late")
    return () if sentence is None else (sentence,)


def invalid(verdict: Verdict, reasons: tuple[str, ...], tally: Tally) -> Verdict:
    """The verdict so far, where something has already made the run invalid."""
    if not reasons:
        return verdict
    why = because(INVALID, (), tally, Validity().worsened(reasons))
    return replace(verdict, outcome=INVALID, because=why, reasons=reasons)


class Newsroom:
    """Tells, from its own thread, once a second and once more at the end."""

    def __init__(
        self,
        scenario: Scenario,
        recorder: Recorder,
        gauges: Callable[[], dict[str, Any]],
        shadow: Callable[[], ShadowNews] | None = None,
        settle: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``settle`` has the load's client count what it has read by now."""
        self._settle = settle
        self._live = Live(scenario.slo, duration=scenario.duration_s, since=scenario.warm_up_s)
        self._recorder = recorder
        self._gauges = gauges
        self._shadow = shadow
        self._decisions: list[Decision] = []
        self._told = Counter[DecisionPoint]()
        self._first_errors: dict[str, str] = {}
        self._desk = ThreadPoolExecutor(1, thread_name_prefix="news")
        self._sums = Sums(self._live)
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._desk.shutdown()

    def decision(self, decision: Decision) -> None:
        """A law decided; told with the next news, if it changed anything."""
        point = decision.point
        if point is not DecisionPoint.CONCURRENCY:
            if decision.before == decision.after or self._told[point] >= _TOLD:
                return
            self._told[point] += 1
        self._decisions.append(decision)

    def sample(self, sample: Sample) -> None:
        """A request was resolved: to disk, and its error kept if it is the first of its kind."""
        self._recorder.sample(sample)
        if not sample.outcome.success:
            self._first_errors.setdefault(str(sample.outcome), sample.error)

    async def each_second(
        self, clock: RunClock, fold: WindowFold, feed: SignalsFeed, tell: Callable[[News], None]
    ) -> None:
        """Tell just after each full second of the run, until cancelled."""
        while True:
            second = max(0, math.floor(clock())) + 1
            await asyncio.sleep(second + _AFTER - clock())
            if self._settle is not None:
                await self._settle()
            caught = self._catch(fold.changed(clock()), clock(), feed)
            # Shielded: what was caught is told even if this is cancelled meanwhile.
            await asyncio.shield(self._hand_over(caught, tell))

    async def last(
        self, now: float, fold: WindowFold, feed: SignalsFeed, tell: Callable[[News], None]
    ) -> None:
        """The last word: every window that is not out yet, and the sums of all of them."""
        self._over = True
        await self._hand_over(self._catch(fold.finish(max(0.0, now)), now, feed), tell)

    def _hand_over(self, caught: _Caught, tell: Callable[[News], None]) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._desk, self._publish, caught, tell)

    def _catch(self, windows: list[Window], at: float, feed: SignalsFeed) -> _Caught:
        """On the load's event loop; the files that the load writes get a turn too."""
        shadow = self._shadow() if self._shadow else None
        self._recorder.flush()
        decisions, self._decisions = tuple(self._decisions), []
        self._told.clear()
        gauges = {**self._gauges(), "first_errors": dict(self._first_errors)}
        missing = feed.stale if feed.supported else None
        return _Caught(at, tuple(windows), decisions, gauges, missing, shadow)

    def _publish(self, caught: _Caught, tell: Callable[[News], None]) -> None:
        """On the desk's thread."""
        self._recorder.windows(caught.windows)
        self._live.update(caught.windows)
        verdict, totals = self._sums.now(last=self._over)
        verdict = invalid(verdict, doubts([caught.gauges]), self._live.tally)
        tell(
            News(
                at=caught.at,
                windows=caught.windows,
                decisions=caught.decisions,
                verdict=verdict,
                totals={**totals, **caught.gauges},
                signals_missing=caught.signals_missing,
                shadow=caught.shadow,
            )
        )

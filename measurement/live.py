"""A run that is still going, in numbers: totals over the newest revision of every window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from measurement.cohort import HISTOGRAMS, Cohort
from measurement.histogram import Histogram
from measurement.outcome import Outcome
from measurement.part import REJECTED
from measurement.quantiles import PERCENTS, minimum_n
from measurement.slo import Slo
from measurement.tally import Tally
from measurement.validity import Validity
from measurement.verdict import Verdict, judge
from measurement.window import RETENTION, Window


@dataclass(frozen=True, slots=True)
class _Piece:
    """What stays of a window for good: its cohort without histograms."""

    start: float
    end: float
    cohort: Cohort


class Live:
    """Takes what ``WindowFold.changed`` gives, and keeps the totals.

    A revision replaces what its window gave before, so an update costs as much as there are
    changed windows, however long the run. Windows that start before ``since`` are warm-up;
    ``duration`` is the schedule's length, which the last window may exceed.
    """

    def __init__(self, slo: Slo | None, *, duration: float, since: float = 0.0) -> None:
        self.slo = slo
        self.duration = duration
        self.since = since
        self._pieces: dict[int, _Piece] = {}
        self._recent: dict[int, Window] = {}
        self._buckets: dict[str, Counter[int]] = {name: Counter() for name in HISTOGRAMS}
        self._in_flight: float | None = None

    def update(self, windows: Iterable[Window]) -> None:
        """Take new windows and new revisions."""
        newest = self._last_index()
        for window in windows:
            if window.index >= newest:
                newest, self._in_flight = window.index, window.events.in_flight_mean
            if window.start >= self.since:
                self._replace(window)
        for index in [i for i, w in self._recent.items() if self._settled(w)]:
            del self._recent[index]

    @property
    def tally(self) -> Tally:
        """The cohorts so far, in order of time."""
        return Tally(tuple(piece.cohort for _, piece in sorted(self._pieces.items())))

    def histogram(self, name: str) -> Histogram:
        """The merged histogram of ``ttft``, ``tpot``, ``itl``, ``e2e`` or ``send_lag``."""
        return Histogram(tuple(sorted((+self._buckets[name]).items())))

    def verdict(self, validity: Validity | None = None) -> Verdict:
        """The verdict on what is resolved so far, by the rule of the final one."""
        return judge(self.tally, self.slo, validity)

    def totals(self) -> dict[str, Any]:
        """The live tiles. Rates are over windows in which every request has its outcome."""
        tally = self.tally
        low, high = tally.joint.interval() if tally.joint.n else (None, None)
        closed = [piece for piece in self._pieces.values() if not piece.cohort.pending]
        seconds = sum(max(0.0, min(p.end, self.duration) - p.start) for p in closed)
        outcomes: Counter[str] = Counter()
        for piece in self._pieces.values():
            outcomes.update({str(outcome): n for outcome, n in piece.cohort.outcomes.items()})
        return {
            "offered": tally.offered,
            "resolved": tally.offered - tally.pending,
            "pending": tally.pending,
            "outcomes": dict(outcomes),
            "errors": sum(n for name, n in outcomes.items() if _is_error(name)),
            "rejected": sum(outcomes[str(outcome)] for outcome in REJECTED),
            "excluded": tally.excluded,
            "attainment": tally.joint.value,
            "attainment_low": low,
            "attainment_high": high,
            "attainment_n": tally.joint.n,
            "effective_n": round(tally.joint.effective_n, 1),
            "goodput_rps": _rate(sum(p.cohort.met for p in closed), seconds),
            "goodput_tokens_ps": _rate(sum(p.cohort.met_tokens for p in closed), seconds),
            "offered_rate": _rate(sum(p.cohort.offered for p in closed), seconds),
            "in_flight": self._in_flight,
            **{f"{name}_ms": percentiles_ms(self.histogram(name)) for name in HISTOGRAMS},
        }

    def _last_index(self) -> int:
        return max(self._recent, default=-1)

    def _replace(self, window: Window) -> None:
        before = self._recent.get(window.index)
        if before is not None and before.revision >= window.revision:
            return
        if before is not None:
            self._add(before.cohort, -1)
        elif window.index in self._pieces:
            return  # settled long ago
        self._add(window.cohort, 1)
        self._recent[window.index] = window
        bare = window.cohort.without_histograms()
        self._pieces[window.index] = _Piece(window.start, window.end, bare)

    def _add(self, cohort: Cohort, sign: int) -> None:
        for name, buckets in self._buckets.items():
            histogram: Histogram = getattr(cohort, name)
            for bucket, count in histogram.buckets:
                buckets[bucket] += sign * count

    def _settled(self, window: Window) -> bool:
        """Whether the fold has let go of it, so that no revision can come."""
        newest = self._recent[self._last_index()]
        return window.final and window.end < newest.start - 2 * RETENTION


def percentiles_ms(histogram: Histogram) -> dict[str, Any]:
    """``{p50, p90, p95, p99, n, rough}`` in ms, with the sample-size rule of ``Quantiles``."""
    n = histogram.count
    found: dict[str, float | None] = {}
    rough: dict[str, float] = {}
    for percent in PERCENTS:
        seconds = histogram.percentile(percent)
        enough = seconds is not None and n >= minimum_n(percent)
        found[f"p{percent:g}"] = 1e3 * seconds if seconds is not None and enough else None
        if seconds is not None and not enough:
            rough[f"p{percent:g}"] = 1e3 * seconds
    return {**found, "n": n, "rough": rough}


def _is_error(name: str) -> bool:
    """Failures that are neither refusals nor the user's own cancel."""
    outcome = Outcome(name)
    return not outcome.success and outcome not in (*REJECTED, Outcome.CANCELLED)


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if seconds > 0 else None

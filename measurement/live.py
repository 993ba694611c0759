"""A run that is still going, in numbers: totals over the newest revision of every window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from measurement.cohort import HISTOGRAMS, Cohort
from measurement.histogram import Histogram
from measurement.outcome import Outcome
from measurement.part import REJECTED
from measurement.proportion import Share
from measurement.quantiles import PERCENTS, minimum_n
from measurement.run_budget import RunBudget
from measurement.slo import Slo
from measurement.tally import Tally
from measurement.validity import Validity
from measurement.verdict import Verdict, judge
from measurement.window import RETENTION, Window


@dataclass(frozen=True, slots=True)
class _Piece:
    """What stays of a window for good: what the effective n is read from."""

    judged: int
    met: int
    missed_by: Mapping[str, int]


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
        self._counts: Counter[str] = Counter()
        self._outcomes: Counter[Outcome] = Counter()
        self._unmeasured: Counter[str] = Counter()
        self._buckets: dict[str, Counter[int]] = {name: Counter() for name in HISTOGRAMS}
        self._closed_seconds = 0.0
        self._warming: dict[int, int] = {}
        self._newest: Window | None = None
        self._tally: Tally | None = None

    def update(self, windows: Iterable[Window]) -> None:
        """Take new windows and new revisions."""
        for window in windows:
            if self._newest is None or window.index >= self._newest.index:
                self._newest = window
            if window.start >= self.since:
                self._replace(window)
            else:
                self._warm(window)
        self._tally = None
        edge = self._newest.start - 2 * RETENTION if self._newest is not None else 0.0
        for index in [i for i, w in self._recent.items() if w.final and w.end < edge]:
            del self._recent[index]  # the fold has let go of it: no revision can come

    @property
    def tally(self) -> Tally:
        """What a verdict needs, so far."""
        if self._tally is None:
            rows = [piece for _, piece in sorted(self._pieces.items())]
            metrics = {metric for row in rows for metric in row.missed_by}
            self._tally = Tally(
                offered=self._counts["offered"],
                pending=self._counts["pending"],
                excluded=self._counts["excluded"],
                met_tokens=self._counts["met_tokens"],
                unmeasured=dict(+self._unmeasured),
                judged=[row.judged for row in rows],
                met=[row.met for row in rows],
                missed_by={m: [row.missed_by.get(m, 0) for row in rows] for m in metrics},
            )
        return self._tally

    def histogram(self, name: str) -> Histogram:
        """The merged histogram of ``ttft``, ``tpot``, ``itl``, ``e2e`` or ``send_lag``."""
        buckets = self._buckets[name].items()
        return Histogram.of_buckets(bucket for bucket in buckets if bucket[1])

    def verdict(self, validity: Validity | None = None) -> Verdict:
        """The verdict on what is resolved so far, by the rule of the final one."""
        return judge(self.tally, self.slo, validity)

    def totals(self) -> dict[str, Any]:
        """The live tiles. Rates are over windows in which every request has its outcome."""
        joint, counts, outcomes = self.tally.joint, self._counts, +self._outcomes
        low, high = joint.interval() if joint.n else (None, None)
        return {
            "offered": counts["offered"],
            "offered_in_warm_up": sum(self._warming.values()),
            "warm_up_s": self.since,
            "resolved": counts["offered"] - counts["pending"],
            "pending": counts["pending"],
            "outcomes": {str(outcome): n for outcome, n in outcomes.items()},
            "errors": sum(n for outcome, n in outcomes.items() if _is_error(outcome)),
            "rejected": sum(outcomes[outcome] for outcome in REJECTED),
            "excluded": counts["excluded"],
            "attainment": joint.value,
            "attainment_low": low,
            "attainment_high": high,
            "attainment_n": joint.n,
            "effective_n": round(joint.effective_n, 1),
            "budget": self._budget(joint),
            "goodput_rps": self._rate("closed_met"),
            "goodput_tokens_ps": self._rate("closed_met_tokens"),
            "offered_rate": self._rate("closed_offered"),
            "in_flight": self._newest.events.in_flight_mean if self._newest is not None else None,
            **{f"{name}_ms": percentiles_ms(self.histogram(name)) for name in HISTOGRAMS},
        }

    def _budget(self, joint: Share) -> dict[str, Any] | None:
        """Of the run so far, from where its warm-up ends."""
        if self.slo is None or self._newest is None:
            return None
        length = self.duration - self.since
        elapsed = (self._newest.end - self.since) / length if length > 0 else 1.0
        return RunBudget.of(joint, self.slo.target, elapsed=elapsed).to_json()

    def _warm(self, window: Window) -> None:
        """Counted and not judged. A revision changes what became of requests, never their number
        downwards."""
        known = self._warming.get(window.index, 0)
        self._warming[window.index] = max(known, window.cohort.offered)

    def _replace(self, window: Window) -> None:
        before = self._recent.get(window.index)
        if before is None and window.index in self._pieces:
            return  # let go long ago
        if before is not None:
            if before.revision >= window.revision:
                return
            self._add(before, -1)
        self._add(window, 1)
        self._recent[window.index] = window
        cohort = window.cohort
        self._pieces[window.index] = _Piece(cohort.judged, cohort.met, cohort.missed_by)

    def _add(self, window: Window, sign: int) -> None:
        cohort = window.cohort
        for name, count in _counts(cohort).items():
            self._counts[name] += sign * count
        if not cohort.pending:
            inside = min(window.end, self.duration) - window.start
            self._closed_seconds += sign * max(0.0, inside)
        _add_to(self._outcomes, cohort.outcomes, sign)
        _add_to(self._unmeasured, cohort.unmeasured, sign)
        for name, buckets in self._buckets.items():
            _add_to(buckets, dict(getattr(cohort, name).buckets), sign)

    def _rate(self, name: str) -> float | None:
        seconds = self._closed_seconds
        return self._counts[name] / seconds if seconds > 0 else None


def percentiles_ms(histogram: Histogram) -> dict[str, Any]:
    """``{p50, p90, p95, p99, n, rough}`` in ms, with the sample-size rule of ``Quantiles``."""
    n = histogram.count
    found: dict[str, float | None] = {}
    rough: dict[str, float] = {}
    for percent, seconds in zip(PERCENTS, histogram.percentiles(PERCENTS), strict=True):
        enough = seconds is not None and n >= minimum_n(percent)
        found[f"p{percent:g}"] = 1e3 * seconds if seconds is not None and enough else None
        if seconds is not None and not enough:
            rough[f"p{percent:g}"] = 1e3 * seconds
    return {**found, "n": n, "rough": rough}


def _counts(cohort: Cohort) -> dict[str, int]:
    """A window's part in the totals; ``closed_…`` only when none of its requests is pending."""
    counts = {
        "offered": cohort.offered,
        "pending": cohort.pending,
        "excluded": cohort.excluded,
        "met_tokens": cohort.met_tokens,
    }
    if cohort.pending:
        return counts
    closed = {"offered": cohort.offered, "met": cohort.met, "met_tokens": cohort.met_tokens}
    return counts | {f"closed_{name}": count for name, count in closed.items()}


def _add_to(total: Counter[Any], counts: Mapping[Any, int], sign: int) -> None:
    for key, count in counts.items():
        total[key] += sign * count


def _is_error(outcome: Outcome) -> bool:
    """Failures that are neither refusals nor the user's own cancel."""
    return not outcome.success and outcome not in (*REJECTED, Outcome.CANCELLED)

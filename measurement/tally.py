"""What a verdict needs of a run: for each objective, how many of how many met it, window by window.

It comes from the cohorts of windows while a run is going, and from all of its samples at its end
(``measurement.judgements``): the verdict is the same arithmetic on both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from measurement.batch_means import effective_n
from measurement.cohort import Cohort
from measurement.proportion import Share
from measurement.window import Window


@dataclass(frozen=True)
class Tally:
    """Counts over the run, and by window in order of time what the effective n is read from."""

    offered: int
    pending: int
    """Those without an outcome yet."""
    excluded: int
    """Cancelled before they had missed anything."""
    met_tokens: int
    """Output tokens of the requests that met every objective."""
    unmeasured: Mapping[str, int]
    """Successes without a value, by objective."""
    judged: Sequence[int]
    """By window: resolved and not excluded."""
    met: Sequence[int]
    missed_by: Mapping[str, Sequence[int]]
    """By objective, by window."""

    @classmethod
    def of_cohorts(cls, cohorts: Sequence[Cohort]) -> Tally:
        """From cohorts in order of time."""
        metrics = {metric for cohort in cohorts for metric in cohort.missed_by}
        unmeasured: Counter[str] = Counter()
        for cohort in cohorts:
            unmeasured.update(cohort.unmeasured)
        return cls(
            offered=sum(cohort.offered for cohort in cohorts),
            pending=sum(cohort.pending for cohort in cohorts),
            excluded=sum(cohort.excluded for cohort in cohorts),
            met_tokens=sum(cohort.met_tokens for cohort in cohorts),
            unmeasured=dict(unmeasured),
            judged=[cohort.judged for cohort in cohorts],
            met=[cohort.met for cohort in cohorts],
            missed_by={m: [cohort.missed_by.get(m, 0) for cohort in cohorts] for m in metrics},
        )

    @classmethod
    def of_windows(cls, windows: Iterable[Window], *, since: float = 0.0) -> Tally:
        """From windows of one width; those that start before ``since`` are warm-up."""
        kept = sorted((w for w in windows if w.start >= since), key=lambda w: w.index)
        return cls.of_cohorts([window.cohort for window in kept])

    @cached_property
    def joint(self) -> Share:
        """Requests that met every objective."""
        return self._share(self.met)

    def objective(self, metric: str) -> Share:
        """Requests that did not miss this objective."""
        missed = self.missed_by.get(metric)
        if missed is None:
            return self._share(self.judged)
        return self._share([n - k for n, k in zip(self.judged, missed, strict=True)])

    def measured(self, metric: str) -> int:
        """Requests of which the objective's metric says something: a value, or a failure."""
        return self.joint.n - self.unmeasured.get(metric, 0)

    def _share(self, hits: Sequence[int]) -> Share:
        return Share(sum(hits), sum(self.judged), effective_n(self.judged, hits))

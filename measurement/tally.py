"""What a verdict needs of a run: for each objective, how many of how many met it, window by window.

It comes from the cohorts of windows, so a verdict on a run that is still going and the one at its
end are the same arithmetic on the same fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from measurement.batch_means import effective_n
from measurement.cohort import Cohort, CohortBuilder
from measurement.proportion import Share
from measurement.sample import Sample
from measurement.slo import Slo, judge
from measurement.window import Window


@dataclass(frozen=True, slots=True)
class Tally:
    """The cohorts of a run's windows, in order of time."""

    cohorts: tuple[Cohort, ...]

    @classmethod
    def of_windows(cls, windows: Iterable[Window], *, since: float = 0.0) -> Tally:
        """From windows of one width; those that start before ``since`` are warm-up."""
        kept = sorted((w for w in windows if w.start >= since), key=lambda w: w.index)
        return cls(tuple(window.cohort for window in kept))

    @classmethod
    def of_samples(cls, samples: Iterable[Sample], slo: Slo | None, *, width: float = 1.0) -> Tally:
        """From the samples of the part that is to be judged."""
        return cls(cohorts_of(samples, slo, width=width))

    @property
    def offered(self) -> int:
        """Every request that was due."""
        return sum(cohort.offered for cohort in self.cohorts)

    @property
    def pending(self) -> int:
        """Those without an outcome yet."""
        return sum(cohort.pending for cohort in self.cohorts)

    @property
    def excluded(self) -> int:
        """Cancelled before they had missed anything."""
        return sum(cohort.excluded for cohort in self.cohorts)

    @property
    def joint(self) -> Share:
        """Requests that met every objective."""
        return self._share([cohort.met for cohort in self.cohorts])

    def objective(self, metric: str) -> Share:
        """Requests that did not miss this objective."""
        return self._share(
            [cohort.judged - cohort.missed_by.get(metric, 0) for cohort in self.cohorts]
        )

    def measured(self, metric: str) -> int:
        """Requests of which the objective's metric says something: a value, or a failure."""
        return sum(c.judged - c.unmeasured.get(metric, 0) for c in self.cohorts)

    def _share(self, hits: Sequence[int]) -> Share:
        sizes = [cohort.judged for cohort in self.cohorts]
        return Share(sum(hits), sum(sizes), effective_n(sizes, hits))


def cohorts_of(
    samples: Iterable[Sample], slo: Slo | None, *, width: float = 1.0
) -> tuple[Cohort, ...]:
    """The cohorts of the samples' windows in order of time, without histograms."""
    builders: dict[int, CohortBuilder] = {}
    for sample in samples:
        index = int(sample.intended_at // width)
        builder = builders.get(index)
        if builder is None:
            builder = builders[index] = CohortBuilder()
        builder.offered(sample.tenant)
        builder.count(sample, judge(sample, slo))
    return tuple(builder.freeze() for _, builder in sorted(builders.items()))

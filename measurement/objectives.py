"""What an objective may be about: the metrics of one request, in the unit that documents use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from documents.fields import parameter
from documents.problem import DocumentError, Problem
from measurement.outcome import Outcome
from measurement.sample import Sample


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that can be asked of a request."""

    name: str
    title: str
    unit: str
    of: Callable[[Sample], float | None]
    """The value for a success; None where the metric has no meaning for it."""
    so_far: Callable[[Sample], float | None]
    """For a request given up early: what its value had surely reached by then."""

    def missed(self, sample: Sample, limit: float) -> bool | None:
        """Whether the sample breaks the limit; a failure is +∞, and None means no value."""
        if sample.outcome is Outcome.CANCELLED:
            value = self.so_far(sample)
        elif not sample.outcome.success:
            return True
        else:
            value = self.of(sample)
        return None if value is None else round(value, 6) > limit  # to the nanosecond


def _waited(sample: Sample, since_start: float | None) -> float | None:
    """The wait that ended, or the one that was going on when the request was given up."""
    if since_start is None and sample.done_at is not None:
        since_start = sample.done_at - sample.intended_at
    return _ms(since_start)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _open(_: Sample) -> float | None:
    """A mean of the whole answer: nothing is sure before its end."""
    return None


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ttft_ms", "TTFT", "ms", lambda s: _ms(s.ttft), lambda s: _waited(s, s.ttft)),
        Metric("ttfat_ms", "TTFAT", "ms", lambda s: _ms(s.ttfat), lambda s: _waited(s, s.ttfat)),
        Metric("tpot_ms", "TPOT", "ms", lambda s: _ms(s.tpot), _open),
        Metric("itl_ms", "mean ITL", "ms", lambda s: _ms(s.mean_gap), _open),
        Metric(
            "longest_gap_ms",
            "longest gap",
            "ms",
            lambda s: _ms(s.longest_gap),
            lambda s: _ms(s.longest_gap),
        ),
        Metric("e2e_ms", "E2E", "ms", lambda s: _ms(s.e2e), lambda s: _waited(s, None)),
        Metric("error", "error", "", lambda _: 0.0, _open),
    )
}


@dataclass(frozen=True, slots=True)
class Objective:
    """One threshold, and the share of offered requests that must keep it."""

    metric: str = parameter(choices=tuple(METRICS), help="what is measured of each request")
    max: float = parameter(minimum=0, help="the most that still meets the objective")
    target: float | None = parameter(
        default=None,
        minimum=0,
        exclusive_minimum=True,
        maximum=0.99999,
        help="share of offered requests that must meet it; the SLO's own target if not given",
    )

    def __post_init__(self) -> None:
        if self.metric == "error" and self.max != 0:
            remedy = "must be 0: a request is an error or none; to allow a share, give a target"
            raise DocumentError([Problem("max", self.max, remedy)])

    @property
    def label(self) -> str:
        """The objective as a sentence holds it: ``TTFT ≤ 800 ms``."""
        metric = METRICS[self.metric]
        return "no error" if self.metric == "error" else f"{metric.title} ≤ {self.max:g} ms"

"""Whether a run's stimulus was what was asked for: numbers, and each reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from measurement.columns import SampleColumns
from measurement.histogram import Histogram
from measurement.latencies import OF_ALL
from measurement.outcome import Outcome
from measurement.quantiles import Quantiles
from measurement.stimulus import Expected, Gaps, gaps_of

ON_TIME = 0.010
ON_TIME_SHARE = 0.98
LAG_FLOOR = 0.005
LAG_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Validity:
    """``valid`` or ``invalid``; every reason is a sentence with its number and its remedy."""

    status: str = "valid"
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    late: bool = False
    """Whether a reason is that the client itself was late."""
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether a verdict may be read from the run."""
        return self.status == "valid"

    def worsened(self, reasons: Sequence[str], *, late: bool = False) -> Validity:
        """The same with reasons that samples can't show; invalid if there are any.

        ``late`` where they are that the client itself was.
        """
        if not reasons:
            return self
        return replace(
            self, status="invalid", reasons=(*reasons, *self.reasons), late=self.late or late
        )

    def warned(self, warnings: Sequence[str]) -> Validity:
        """The same with sentences that a reader must not miss."""
        return replace(self, warnings=(*self.warnings, *warnings)) if warnings else self

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "status": self.status,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
            "numbers": dict(self.numbers),
        }


def check(  # noqa: PLR0913 - what is known of a run, all by keyword
    columns: SampleColumns,
    *,
    duration: float,
    scheduled: int | None = None,
    loop_lag: Histogram | None = None,
    receive_lag: Histogram | None = None,
    ttft_target: float | None = None,
    expected: Expected | None = None,
) -> Validity:
    """Judge the stimulus of a run that offered these requests within ``duration`` seconds.

    ``scheduled`` is how many the schedule held by then; ``loop_lag`` how late the client's event
    loop ran, in seconds; ``receive_lag`` how late it read what the kernel had (the larger is
    judged: packets that wait together look younger than they are); ``ttft_target`` the TTFT
    objective, in seconds.
    """
    on_time = _on_time(columns)
    gaps = gaps_of(columns, duration, expected)
    late = [
        *_late(on_time),
        *_dropped(columns),
        *_lagging(loop_lag, receive_lag, ttft_target),
    ]
    reasons = [*late, *_unreconciled(columns, scheduled)]
    return Validity(
        status="invalid" if reasons else "valid",
        late=bool(late),
        reasons=tuple(reasons),
        warnings=tuple(gaps.warnings(expected)),
        numbers={
            **_numbers(columns, duration, on_time, (gaps, expected)),
            "loop_lag_ms": _percentiles(loop_lag),
            "receive_lag_ms": _percentiles(receive_lag),
        },
    )


def most_lag(ttft_target: float | None) -> float:
    """Seconds by which a client may read late, where first tokens may take so many."""
    return max(LAG_FLOOR, LAG_SHARE * (ttft_target or 0.0))


@dataclass(frozen=True, slots=True)
class _OnTime:
    """How many of the due requests the policy got within 10 ms."""

    within: int
    due: int

    @property
    def share(self) -> float | None:
        return self.within / self.due if self.due else None


def _on_time(columns: SampleColumns) -> _OnTime:
    """A request that the user's cancel kept from the policy was not due any more."""
    return _OnTime(
        within=columns.count(lambda b: b.client_lag <= ON_TIME),
        due=columns.count(lambda b: ~np.isnan(b.handed_at) | ~b.became(Outcome.CANCELLED)),
    )


def _late(on_time: _OnTime) -> Iterator[str]:
    share = on_time.share
    if share is not None and share < ON_TIME_SHARE:
        yield (
            f"Only {100 * share:.2f} % of {on_time.due:,} requests reached the policy within "
            f"{ON_TIME * 1e3:g} ms of their time, where {100 * ON_TIME_SHARE:g} % must: the client "
            "was too slow. Run it where less else runs, or at a lower rate."
        )


def _dropped(columns: SampleColumns) -> Iterator[str]:
    dropped = columns.count(lambda block: block.became(Outcome.DROPPED))
    if not dropped:
        return
    noun = "request was" if dropped == 1 else "requests were"
    first = columns.firsts.get(Outcome.DROPPED)
    if first is not None and first.error:  # those that are merely late say nothing
        yield (
            f"{dropped:,} {noun} dropped, at least one because the client's machine could make "
            f"no connection for it: {first.error}."
        )
    else:
        yield (
            f"{dropped:,} {noun} dropped, more than 1 s late for a cause of the client's own. "
            "Run it where less else runs, or at a lower rate."
        )


def _lagging(
    loop_lag: Histogram | None, receive_lag: Histogram | None, ttft_target: float | None
) -> Iterator[str]:
    known = {"event-loop": loop_lag, "receive": receive_lag}
    found = {name: lag.percentile(99) or 0.0 for name, lag in known.items() if lag is not None}
    name = max(found, key=lambda name: found[name], default="")
    lag = found.get(name)
    most = most_lag(ttft_target)
    if lag is not None and lag > most:
        yield (
            f"The client read its answers late: {name} lag P99 was {lag * 1e3:.1f} ms, where "
            f"at most {most * 1e3:.1f} ms (5 ms, or 5 % of the TTFT target) may be. Use more "
            "workers, or fewer streams at a time."
        )


def _unreconciled(columns: SampleColumns, scheduled: int | None) -> Iterator[str]:
    indices = np.sort(columns.values(lambda block: block.index))
    distinct = np.count_nonzero(np.diff(indices, prepend=-1.0))
    if distinct != len(columns):
        yield (
            f"{len(columns):,} samples were recorded for {distinct:,} requests, so counts don't "
            "reconcile. The recorder is at fault: please report it."
        )
    if scheduled is not None and distinct != scheduled:
        yield (
            f"{scheduled:,} requests were due and {distinct:,} have a sample, so counts don't "
            "reconcile. Was a worker killed? Run it again."
        )


def _numbers(
    columns: SampleColumns,
    duration: float,
    on_time: _OnTime,
    shape: tuple[Gaps, Expected | None],
) -> dict[str, Any]:
    gaps, expected = shape
    in_time = columns.count(lambda b: b.sent_at < duration)
    return {
        "offered": len(columns),
        "sent": columns.count(lambda b: ~np.isnan(b.sent_at)),
        "on_time_share": on_time.share,
        "offered_rate": len(columns) / duration if duration > 0 else None,
        "achieved_rate": in_time / duration if duration > 0 else None,
        **{
            name: Quantiles.of(columns.known(of), scale=1e3).to_json()
            for name, of in OF_ALL.items()
        },
        "cv": gaps.cv,
        "dispersion": gaps.dispersion,
        "dispersion_bins": gaps.bins,
        "expected_cv": expected.cv if expected else None,
        "expected_dispersion": expected.dispersion if expected else None,
    }


def _percentiles(lag: Histogram | None) -> dict[str, Any] | None:
    if lag is None or not lag.count:
        return None
    ms = {f"p{p}": (lag.percentile(p) or 0.0) * 1e3 for p in (50, 99, 100)}
    return {"p50": ms["p50"], "p99": ms["p99"], "max": ms["p100"], "n": lag.count}

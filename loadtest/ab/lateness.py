"""How punctual the client was for one arm: a late client is no fault of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from measurement.doubted import NOTHING, Doubted
from measurement.histogram import HistogramBuilder
from measurement.outcome import Outcome
from measurement.sample import Sample
from measurement.validity import ON_TIME, ON_TIME_SHARE

_ENOUGH = 200
"""Requests before a share of late ones means anything."""


class Lateness:
    """Counts requests that reached the policy within 10 ms of their intended time."""

    def __init__(self) -> None:
        self.due = 0
        self.on_time = 0
        self.dropped = 0
        self.doubted = NOTHING
        self._lag = HistogramBuilder()

    def add(self, samples: Iterable[Sample], doubted: Doubted = NOTHING) -> None:
        """Those of one block, and of their first tokens those that may be late for the client's
        cause, by so much that they would be judged otherwise."""
        self.doubted += doubted
        for sample in samples:
            self.due += 1
            self.dropped += sample.outcome is Outcome.DROPPED
            if sample.client_lag is not None:
                self.on_time += sample.client_lag <= ON_TIME
                self._lag.record(max(0.0, sample.client_lag))

    @property
    def share(self) -> float | None:
        """Of the due, those on time."""
        return self.on_time / self.due if self.due else None

    def faults(self) -> Iterator[str]:
        """Why what was asked so far is not what was meant, in a sentence with a remedy."""
        share = self.share
        if share is not None and self.due >= _ENOUGH and share < ON_TIME_SHARE:
            yield (
                f"Only {100 * share:.2f} % of {self.due:,} requests reached the policy within "
                f"{ON_TIME * 1e3:g} ms of their time, where {100 * ON_TIME_SHARE:g} % must: the "
                "client was too slow. Run it where less else runs, or at a lower rate."
            )
        if self.doubted.matters:
            yield (
                f"{100 * self.doubted.share:.1f} % of the answers would be judged otherwise, had "
                f"their first token come up to {1e3 * self.doubted.error:,.0f} ms sooner, and it "
                "may have: the client stood still as it came. Run it where less else runs."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        lag = self._lag.freeze()
        p50, p99 = lag.percentiles((50, 99))
        return {
            "due": self.due,
            "on_time_share": self.share,
            "dropped": self.dropped,
            "doubted_first_tokens": self.doubted.doubted,
            "client_lag_ms": {
                "p50": None if p50 is None else 1e3 * p50,
                "p99": None if p99 is None else 1e3 * p99,
            },
        }

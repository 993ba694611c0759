"""The events part of a window: what happened in it, whichever requests it happened to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from measurement.outcome import Outcome

K = TypeVar("K")

MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Events:
    """Counts add; in flight is an exact integral over time; gauges are as last seen."""

    sent: int = 0
    tokens: int = 0
    completed: Mapping[Outcome, int] = field(default_factory=dict)
    in_flight_us: int = 0
    """The integral of the count in flight over time: requests × µs."""
    in_flight_span_us: int = 0
    """The time over which it is known; 0 where nobody counted."""
    in_flight_max: int | None = None
    limit: int | None = None
    shadow_limit: int | None = None
    """What a shadow would have allowed; None where there is none."""
    running: float | None = None
    waiting: float | None = None
    kv_use: float | None = None

    @property
    def in_flight_mean(self) -> float | None:
        """Time-weighted mean of the count in flight."""
        return self.in_flight_us / self.in_flight_span_us if self.in_flight_span_us else None

    def merge(self, other: Events) -> Events:
        """Beside it: the same stretch of time, as another worker saw it.

        In flight and limits add, since each worker holds its own share; the sum of the maxima is
        an upper bound, reached when both peak at once. The engine's gauges are one engine's, so
        the larger stands.
        """
        return Events(
            **self._sums(other),
            in_flight_span_us=max(self.in_flight_span_us, other.in_flight_span_us),
            in_flight_max=_both(self.in_flight_max, other.in_flight_max, sum),
            limit=_both(self.limit, other.limit, sum),
            shadow_limit=_both(self.shadow_limit, other.shadow_limit, sum),
            running=_both(self.running, other.running, max),
            waiting=_both(self.waiting, other.waiting, max),
            kv_use=_both(self.kv_use, other.kv_use, max),
        )

    def then(self, later: Events) -> Events:
        """After it: one longer stretch. Gauges are as at its end, where they were seen."""
        return Events(
            **self._sums(later),
            in_flight_span_us=self.in_flight_span_us + later.in_flight_span_us,
            in_flight_max=_both(self.in_flight_max, later.in_flight_max, max),
            limit=_both(self.limit, later.limit, _last),
            shadow_limit=_both(self.shadow_limit, later.shadow_limit, _last),
            running=_both(self.running, later.running, _last),
            waiting=_both(self.waiting, later.waiting, _last),
            kv_use=_both(self.kv_use, later.kv_use, _last),
        )

    def _sums(self, other: Events) -> dict[str, Any]:
        return {
            "sent": self.sent + other.sent,
            "tokens": self.tokens + other.tokens,
            "completed": add_counts(self.completed, other.completed),
            "in_flight_us": self.in_flight_us + other.in_flight_us,
        }

    def to_json(self) -> dict[str, Any]:
        """Null where unknown; ``in_flight_s`` is the time that the mean covers.

        ``shadow_limit`` is there where there was a shadow.
        """
        shadow = {} if self.shadow_limit is None else {"shadow_limit": self.shadow_limit}
        return {
            "sent": self.sent,
            "tokens": self.tokens,
            "completed": {str(outcome): n for outcome, n in self.completed.items()},
            "in_flight_mean": self.in_flight_mean,
            "in_flight_s": self.in_flight_span_us / MICRO,
            "in_flight_max": self.in_flight_max,
            "limit": self.limit,
            **shadow,
            "running": self.running,
            "waiting": self.waiting,
            "kv_use": self.kv_use,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Events:
        """What ``to_json`` wrote, to the last digit."""
        span = round(given["in_flight_s"] * MICRO)
        return cls(
            sent=given["sent"],
            tokens=given["tokens"],
            completed={Outcome(name): n for name, n in given["completed"].items()},
            in_flight_us=round((given["in_flight_mean"] or 0) * span),
            in_flight_span_us=span,
            in_flight_max=given["in_flight_max"],
            limit=given["limit"],
            shadow_limit=given.get("shadow_limit"),
            running=given["running"],
            waiting=given["waiting"],
            kv_use=given["kv_use"],
        )


def add_counts(left: Mapping[K, int], right: Mapping[K, int]) -> dict[K, int]:
    """Counts of both, by key."""
    total = dict(left)
    for key, count in right.items():
        total[key] = total.get(key, 0) + count
    return total


def _last(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _both(left: Any, right: Any, how: Any) -> Any:
    """The two values together, where an unknown one leaves the other as it is."""
    if left is None or right is None:
        return right if left is None else left
    return how((left, right))

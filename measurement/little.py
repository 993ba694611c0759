"""Little's law on the steady part: mean in flight against arrival rate times time in flight.

The law needs no model, so a difference means that something is not as the report says: requests
that were lost or counted twice, or a run that was never steady.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement.columns import SampleColumns

LEAST_TOLERANCE = 0.05
MOST_TOLERANCE = 0.20
"""A part too short to be held to 20 % is not checked at all."""


@dataclass(frozen=True, slots=True)
class Little:
    """``status`` is ok, off, or unknown when there is too little to check."""

    status: str
    note: str = ""
    in_flight: float | None = None
    """L: time-weighted mean in flight, as the driver counted it, else from the samples."""
    rate: float | None = None
    """λ: requests sent per second."""
    seconds: float | None = None
    """W: mean time from send to end."""
    ratio: float | None = None
    """L / (λ·W)."""
    tolerance: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "status": self.status,
            "note": self.note,
            "in_flight": self.in_flight,
            "rate": self.rate,
            "seconds": self.seconds,
            "ratio": self.ratio,
            "tolerance": self.tolerance,
        }


def check(
    columns: SampleColumns, *, start: float, end: float, counted: float | None = None
) -> Little:
    """Compare from ``start`` to ``end``; ``counted`` is the driver's own mean in flight there."""
    sent = columns.known(lambda b: b.sent_at[~np.isnan(b.done_at)])
    done = columns.known(lambda b: b.done_at[~np.isnan(b.sent_at)])
    length = end - start
    seen = _overlap(sent, done, start, end)
    first, last = (int(((sent <= at) & (done > at)).sum()) for at in (start, end))
    times = (done - sent)[(sent >= start) & (sent < end)]
    del sent, done  # of a long run, what is not needed any more makes room
    if length <= 0 or not len(times) or times.mean() <= 0:
        return Little("unknown", "no request was sent and ended in the steady part")
    seen /= length
    rate, seconds = len(times) / length, float(times.mean())
    in_flight = seen if counted is None else counted
    ratio = in_flight / (rate * seconds)
    tolerance = max(LEAST_TOLERANCE, _cut_off(times, seen))
    status, note = _judged(ratio, tolerance, seen / (rate * seconds), (first, last))
    return Little(status, note, in_flight, rate, seconds, ratio, tolerance)


def _overlap(
    sent: NDArray[np.float64], done: NDArray[np.float64], start: float, end: float
) -> float:
    """Seconds that all requests together were in flight between the two times."""
    found = np.minimum(done, end)
    found -= np.maximum(sent, start)
    return float(np.clip(found, 0, None, out=found).sum())


def _cut_off(times: NDArray[np.float64], in_flight: float) -> float:
    """Three standard errors of what the part's two ends cut off, as a share of the whole.

    Each end cuts ``in_flight`` requests, each with a residual time whose second moment is
    E[W³] / 3E[W].
    """
    residual = (times**3).mean() / (3 * times.mean())
    return float(3 * np.sqrt(2 * max(in_flight, 1.0) * residual) / times.sum())


def _judged(
    ratio: float, tolerance: float, seen: float, in_flight: tuple[int, int]
) -> tuple[str, str]:
    if tolerance > MOST_TOLERANCE:
        return "unknown", "the steady part is too short, against the requests' times, to check"
    if abs(ratio - 1) <= tolerance:
        return "ok", ""
    fact = f"mean in flight is {ratio:.2f} times rate × time, where 1 ± {tolerance:.2f} may be"
    if abs(seen - 1) <= tolerance:
        return "off", f"{fact}: requests in flight were lost or counted twice"
    first, last = in_flight
    return "off", f"{fact}: the run was not steady, in flight went from {first:,} to {last:,}"

"""Little's law: how many requests are in flight at a load, L = λ·W. It assumes no model at all."""

from __future__ import annotations

from measurement.capacity.estimate import Estimate
from measurement.capacity.observed import Observed

ASSUMES = (
    "the load is steady: what comes in goes out again",
    "nothing is counted twice or lost",
)


def in_flight(point: Observed) -> Estimate:
    """Requests in flight at the measured load, against what the client counted."""
    seconds = point.moments.e2e if point.moments else None
    value = None if seconds is None else point.served * seconds
    return Estimate(
        method="Little's law",
        what="requests in flight",
        value=value,
        assumes=ASSUMES,
        measured=point.in_flight,
        note="" if value is not None else "the run tells no mean time in flight",
    )


def largest_load(point: Observed, slots: float) -> Estimate:
    """Requests per second that fill ``slots`` if each stays as long as it did at this load.

    A shared engine slows down as it fills, so this is the most optimistic of the methods.
    """
    seconds = point.moments.e2e if point.moments else None
    return Estimate(
        method="Little's law",
        what="requests/s that fill every slot",
        value=slots / seconds if seconds else None,
        assumes=(*ASSUMES, "a request takes as long in a full engine as it did at this load"),
        note="" if seconds else "the run tells no mean time in flight",
    )

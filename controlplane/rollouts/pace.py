"""How fast a gateway's traffic is, and how much of it fails: what slots and hard stops go by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

from controlplane.gateways import reading
from controlplane.gateways.models import Gateway
from measurement.cohort import Cohort
from measurement.comparison.assignment import Arm
from measurement.outcome import Outcome
from measurement.window import Window

LOOK_BACK = timedelta(minutes=5)
MINUTE = 60.0
LEAST_ANSWERS = 20
"""With fewer, a P99 of E2E is a guess."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Requests per second, and E2E in seconds, of what the active version served."""

    rate: float
    e2e_p50_s: float
    e2e_p99_s: float


def pace(gateway: Gateway, now: datetime) -> Pace | None:
    """E2E of the last five minutes and the rate of the last one, or of as much as there was
    traffic; None with too few answers."""
    until = now.timestamp()
    whole = _merged(_served(gateway, until - LOOK_BACK.total_seconds(), until))
    middle, late = whole.e2e.percentiles([50.0, 99.0])
    if whole.e2e.count < LEAST_ANSWERS or middle is None or late is None:
        return None
    recent = _served(gateway, until - MINUTE, until)
    if not recent:
        return None
    spent = until - max(until - MINUTE, min(window.start for window in recent))
    return Pace(_merged(recent).offered / max(1.0, spent), middle, late)


def failures(gateway: Gateway, *, since: datetime, until: datetime) -> tuple[int, int]:
    """Requests with an outcome in that time, and how many of them failed or were refused."""
    windows = reading.arms(gateway, since=since.timestamp(), until=until.timestamp())
    whole = _merged(windows.values())
    bad = sum(n for outcome, n in whole.outcomes.items() if _failed(outcome))
    return whole.resolved, bad


def _served(gateway: Gateway, since: float, until: float) -> list[Window]:
    """What the active version served in that time, in Unix seconds."""
    windows = reading.arms(gateway, since=since, until=until)
    return [window for arm, window in windows.items() if arm != Arm.CANDIDATE]


def _merged(windows: Iterable[Window]) -> Cohort:
    return reduce(Cohort.merge, (window.cohort for window in windows), Cohort())


def _failed(outcome: Outcome) -> bool:
    return not (outcome.success or outcome is Outcome.CANCELLED)

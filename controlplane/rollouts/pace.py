"""How fast a gateway's traffic is, and how much of it fails: what slots and hard stops go by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

from controlplane.gateways import reading
from controlplane.gateways.models import Gateway
from measurement.cohort import Cohort
from measurement.outcome import Outcome

LOOK_BACK = timedelta(minutes=5)
LEAST_ANSWERS = 20
"""With fewer, a P99 of E2E is a guess."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Requests per second, and E2E in seconds, of what the active version served."""

    rate: float
    e2e_p50_s: float
    e2e_p99_s: float


def pace(gateway: Gateway, now: datetime) -> Pace | None:
    """Of the last five minutes, or of as much as there was traffic; None with too few answers."""
    until = now.timestamp()
    since = until - LOOK_BACK.total_seconds()
    windows = reading.arms(gateway, since=since, until=until)
    theirs = [window for arm, window in windows.items() if arm != "candidate"]
    whole = _merged([window.cohort for window in theirs])
    middle, late = whole.e2e.percentiles([50.0, 99.0])
    if whole.e2e.count < LEAST_ANSWERS or middle is None or late is None:
        return None
    began = min(window.start for window in theirs)
    spent = max(1.0, until - max(began, since))
    recent = reading.traffic(gateway, seconds=60.0)
    rate = whole.offered / spent if not recent else recent
    return Pace(rate, middle, late)


def failures(gateway: Gateway, *, since: datetime, until: datetime) -> tuple[int, int]:
    """Requests with an outcome in that time, and how many of them failed or were refused."""
    windows = reading.arms(gateway, since=since.timestamp(), until=until.timestamp())
    whole = _merged([window.cohort for window in windows.values()])
    bad = sum(n for outcome, n in whole.outcomes.items() if _failed(outcome))
    return whole.resolved, bad


def _merged(cohorts: list[Cohort]) -> Cohort:
    return reduce(Cohort.merge, cohorts, Cohort())


def _failed(outcome: Outcome) -> bool:
    return not (outcome.success or outcome is Outcome.CANCELLED)

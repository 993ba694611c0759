"""Error budgets of live traffic, and how fast they burn: multi-window, multi-burn-rate alerts.

A burn of 1 spends the budget exactly over the SLO's period. An alert takes two windows, so that
it rises when much is spent and falls soon after it stops: both must burn faster than the factor
at which the long one spends its share of the budget. Windows and shares are those of Google's SRE
workbook, chapter 5; the factor is share × period / long window: 14.4 for 2 % in an hour of 30 d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
LEAST_MISSED = 10
"""Misses in the long window under which an alert says ``insufficient``: with little traffic one
miss would else burn a budget."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the requests intended in one stretch of time."""

    start: float
    seconds: float
    judged: int
    """Resolved, and not excluded."""
    missed: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two windows in seconds, and the share of the budget that the long one may spend."""

    long: float
    short: float
    share: float
    severity: str
    """``page``: somebody must act now; ``ticket``: in working hours."""

    def factor(self, period: float) -> float:
        """The burn at which the long window spends its share."""
        return self.share * period / self.long


PAIRS = (
    Pair(HOUR, 5 * MINUTE, 0.02, "page"),
    Pair(6 * HOUR, 30 * MINUTE, 0.05, "page"),
    Pair(DAY, 2 * HOUR, 0.10, "ticket"),
    Pair(3 * DAY, 6 * HOUR, 0.10, "ticket"),
)


class State(StrEnum):
    FIRING = "firing"
    QUIET = "quiet"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True)
class Burn:
    """Over the last ``seconds``. ``rate`` is null without a request."""

    seconds: float
    judged: int
    missed: int
    rate: float | None


@dataclass(frozen=True, slots=True)
class Alert:
    pair: Pair
    factor: float
    long: Burn
    short: Burn
    state: State

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "severity": self.pair.severity,
            "state": str(self.state),
            "factor": self.factor,
            "long_s": self.pair.long,
            "short_s": self.pair.short,
            "long_burn": self.long.rate,
            "short_burn": self.short.rate,
            "missed": self.long.missed,
            "n": self.long.judged,
        }


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of the period that ends now. Without a request nothing is allowed yet."""

    period: float
    judged: int
    missed: int
    allowed: float
    """(1 − target) × judged."""
    left: float | None
    """Share of the budget; negative when it is overspent."""
    spent_in: float | None
    """Seconds until it is spent at the present burn; None where it doesn't burn over 1, 0 where
    it is spent."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "period_s": self.period,
            "n": self.judged,
            "missed": self.missed,
            "allowed": self.allowed,
            "left": self.left,
            "spent_in_s": self.spent_in,
        }


def burn(counts: Sequence[Counts], *, now: float, seconds: float, target: float) -> Burn:
    """Misses over judged in the window, over what the target allows.

    A stretch belongs to the window that its middle lies in; stretches may have any length.
    """
    inside = [one for one in counts if now - seconds < one.start + one.seconds / 2 <= now]
    judged, missed = sum(one.judged for one in inside), sum(one.missed for one in inside)
    rate = missed / judged / (1 - target) if judged else None
    return Burn(seconds, judged, missed, rate)


def alerts(
    counts: Sequence[Counts],
    *,
    now: float,
    target: float,
    period: float,
    pairs: Sequence[Pair] = PAIRS,
) -> tuple[Alert, ...]:
    """Every pair whose long window is shorter than the period, and whether it fires."""
    return tuple(_alert(counts, pair, now, target, period) for pair in pairs if pair.long < period)


def budget(counts: Sequence[Counts], *, now: float, target: float, period: float) -> Budget:
    """What the period ending now has spent, and how long the rest lasts at the last hour's burn."""
    whole = burn(counts, now=now, seconds=period, target=target)
    allowed = (1 - target) * whole.judged
    left = 1 - whole.rate if whole.rate is not None else None
    return Budget(
        period=period,
        judged=whole.judged,
        missed=whole.missed,
        allowed=allowed,
        left=left,
        spent_in=_spent_in(left, burn(counts, now=now, seconds=HOUR, target=target), period),
    )


def _spent_in(left: float | None, recent: Burn, period: float) -> float | None:
    if left is None:
        return None
    if left <= 0:
        return 0.0
    if recent.rate is None or recent.rate <= 1:
        return None  # the rolling period gives back at least as much as is spent
    return left * period / recent.rate


def _alert(counts: Sequence[Counts], pair: Pair, now: float, target: float, period: float) -> Alert:
    long = burn(counts, now=now, seconds=pair.long, target=target)
    short = burn(counts, now=now, seconds=pair.short, target=target)
    factor = pair.factor(period)
    return Alert(pair, factor, long, short, _state(long, short, factor))


def _state(long: Burn, short: Burn, factor: float) -> State:
    if long.rate is None:
        return State.INSUFFICIENT
    if long.rate < factor or short.rate is None or short.rate < factor:
        return State.QUIET
    return State.FIRING if long.missed >= LEAST_MISSED else State.INSUFFICIENT

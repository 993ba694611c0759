"""Error budgets of live traffic, and how fast they burn: multi-window, multi-burn-rate alerts.

A burn of 1 spends the budget exactly over the SLO's period. An alert takes two windows, so that
it rises when much is spent and falls soon after it stops: both must burn faster than the factor
at which the long one spends its share of the budget. Windows and shares are those of Google's SRE
workbook, chapter 5; the factor is share × period / long window: 14.4 for 2 % in an hour of 30 d.

Time of which nobody has reported is no good time: it is told, and where it could hide an alert,
the alert is ``unknown`` and never quiet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
LEAST_MISSED = 10
"""Misses in the long window under which an alert says ``insufficient``: with little traffic one
miss would else burn a budget."""
LEAST_HEARD = 0.5
"""Share of a window's time under which what was heard can't stand for the rest: as much could have
been missed unseen."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the requests intended in one stretch of time."""

    start: float
    seconds: float
    judged: int
    """Resolved, and not excluded."""
    missed: int
    heard: float | None = None
    """Seconds of it of which somebody has reported; None: all of them."""


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
    """Too few requests or misses to tell."""
    UNKNOWN = "unknown"
    """Too little of the time was reported to tell."""


class Standing(StrEnum):
    """What all alerts of one objective say together."""

    PAGE = "page"
    TICKET = "ticket"
    UNKNOWN = "unknown"
    OK = "ok"
    IDLE = "idle"
    """Reports came, and nobody asked anything: nothing is spent, and nothing proved."""


@dataclass(frozen=True, slots=True)
class Burn:
    """Over the last ``seconds``. ``rate`` is null without a request."""

    seconds: float
    judged: int
    missed: int
    rate: float | None
    heard: float | None = None
    """Share of the time of which somebody reported, since the first stretch; None before it."""
    seen: float = 0.0
    """Seconds of it since the first stretch: a young gateway has not seen the whole window."""


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
            "short_missed": self.short.missed,
            "short_n": self.short.judged,
            "long_heard": self.long.heard,
            "short_heard": self.short.heard,
            "long_seen_s": self.long.seen,
            "short_seen_s": self.short.seen,
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
    heard: float | None = None
    """Share of the period's time, since the first stretch, of which somebody reported."""
    since: float | None = None
    """Where the first stretch of the period begins: a young budget is not the whole period's."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "period_s": self.period,
            "n": self.judged,
            "missed": self.missed,
            "allowed": self.allowed,
            "left": self.left,
            "spent_in_s": self.spent_in,
            "heard": self.heard,
            "since": self.since,
        }


class Course:
    """Stretches in order, so that any window of them is found at once."""

    def __init__(self, counts: Sequence[Counts]) -> None:
        ordered = sorted(counts, key=_middle)
        self._middles = [_middle(one) for one in ordered]
        self._starts = [one.start for one in ordered]
        self._judged = _sums([one.judged for one in ordered])
        self._missed = _sums([one.missed for one in ordered])
        self._heard = _sums([one.seconds if one.heard is None else one.heard for one in ordered])
        self.first = min(self._starts, default=None)

    def burn(self, *, now: float, seconds: float, target: float) -> Burn:
        """Misses over judged in the window, over what the target allows.

        A stretch belongs to the window that its middle lies in; stretches may have any length.
        """
        low, high = self._inside(now, seconds)
        judged = int(self._judged[high] - self._judged[low])
        missed = int(self._missed[high] - self._missed[low])
        rate = missed / judged / (1 - target) if judged else None
        heard, seen = None, 0.0
        if self.first is not None and self.first < now:
            spoken = self._heard[high] - self._heard[low]
            seen = min(seconds, now - self.first)
            heard = min(1.0, spoken / seen)
        return Burn(seconds, judged, missed, rate, heard, seen)

    def alerts(
        self, *, now: float, target: float, period: float, pairs: Sequence[Pair] = PAIRS
    ) -> tuple[Alert, ...]:
        """Every pair whose long window is shorter than the period, and whether it fires."""

        def one(pair: Pair) -> Alert:
            long = self.burn(now=now, seconds=pair.long, target=target)
            short = self.burn(now=now, seconds=pair.short, target=target)
            factor = pair.factor(period)
            return Alert(pair, factor, long, short, _state(long, short, factor))

        return tuple(one(pair) for pair in pairs if pair.long < period)

    def budget(self, *, now: float, target: float, period: float) -> Budget:
        """What the period ending now has spent, and how long the rest lasts at the last hour's
        burn."""
        whole = self.burn(now=now, seconds=period, target=target)
        left = 1 - whole.rate if whole.rate is not None else None
        low, high = self._inside(now, period)
        return Budget(
            period=period,
            judged=whole.judged,
            missed=whole.missed,
            allowed=(1 - target) * whole.judged,
            left=left,
            spent_in=_spent_in(left, self.burn(now=now, seconds=HOUR, target=target), period),
            heard=whole.heard,
            since=min(self._starts[low:high], default=None),
        )

    def _inside(self, now: float, seconds: float) -> tuple[int, int]:
        return bisect_right(self._middles, now - seconds), bisect_right(self._middles, now)


def burn(counts: Sequence[Counts], *, now: float, seconds: float, target: float) -> Burn:
    """``Course.burn`` of these."""
    return Course(counts).burn(now=now, seconds=seconds, target=target)


def alerts(
    counts: Sequence[Counts],
    *,
    now: float,
    target: float,
    period: float,
    pairs: Sequence[Pair] = PAIRS,
) -> tuple[Alert, ...]:
    """``Course.alerts`` of these."""
    return Course(counts).alerts(now=now, target=target, period=period, pairs=pairs)


def budget(counts: Sequence[Counts], *, now: float, target: float, period: float) -> Budget:
    """``Course.budget`` of these."""
    return Course(counts).budget(now=now, target=target, period=period)


def standing(found: Sequence[Alert]) -> tuple[Standing, Alert | None]:
    """The worst that is known, and the alert that says so.

    ``ok`` only where every alert can tell or has nothing to tell of. Where several say the same,
    it is the one that burns fastest against its factor.
    """
    ranks: tuple[tuple[Standing, Callable[[Alert], bool]], ...] = (
        (Standing.PAGE, lambda a: a.state is State.FIRING and a.pair.severity == "page"),
        (Standing.TICKET, lambda a: a.state is State.FIRING),
        (Standing.UNKNOWN, lambda a: a.state is not State.QUIET and not _asked_nothing(a)),
    )
    for named, holds in ranks:
        saying = [alert for alert in found if holds(alert)]
        if saying:
            return named, max(saying, key=_pressure)
    if not found:
        return Standing.UNKNOWN, None
    if all(_asked_nothing(alert) for alert in found):
        return Standing.IDLE, found[-1]
    return Standing.OK, max(found, key=_pressure)


def _asked_nothing(alert: Alert) -> bool:
    return alert.state is State.INSUFFICIENT and alert.long.rate is None


def _pressure(alert: Alert) -> float:
    return (alert.long.rate or 0.0) / alert.factor


def _middle(one: Counts) -> float:
    return one.start + one.seconds / 2


def _sums(values: Sequence[float]) -> list[float]:
    return list(accumulate(values, initial=0.0))


def _spent_in(left: float | None, recent: Burn, period: float) -> float | None:
    if left is None:
        return None
    if left <= 0:
        return 0.0
    if recent.rate is None or recent.rate <= 1:
        return None  # the rolling period gives back at least as much as is spent
    return left * period / recent.rate


def _state(long: Burn, short: Burn, factor: float) -> State:
    hot = [one.rate is not None and one.rate >= factor for one in (long, short)]
    if all(hot):
        return State.FIRING if long.missed >= LEAST_MISSED else State.INSUFFICIENT
    if any(one.heard is not None and one.heard < LEAST_HEARD for one in (long, short)):
        return State.UNKNOWN
    return State.INSUFFICIENT if long.rate is None else State.QUIET

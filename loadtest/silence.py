"""When the engine said nothing while requests waited, and what of the client's lateness that made.

An engine that stood still for some seconds answers everybody at once as it goes on. No client reads
such a burst in time, and it sends late what falls due in it: the run is invalid, but the cause is
the engine's, and the windows outside the burst are as good as any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loadtest.outline import Outline
from measurement.columns import SampleColumns
from measurement.doubted import Stall
from measurement.outcome import Outcome
from measurement.validity import ON_TIME

LEAST = 2
"""Silent windows in a row before they are told as what made the client late, and"""
LONG = 10.0
"""seconds after which they are told of any run, as a run that is under way tells them."""
MOST_WINDOWS = 100
"""Stretches of late windows that are listed: those with most requests."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Whole windows; seconds from the schedule's start."""

    since: float
    until: float
    waiting: int

    @property
    def length(self) -> float:
        """In seconds."""
        return self.until - self.since

    @property
    def burst(self) -> tuple[float, float]:
        """From the window in which it may have gone on, as long again as it was silent."""
        return self.until - 1.0, self.until + max(1.0, self.length)

    def __str__(self) -> str:
        noun = "request" if self.waiting == 1 else "requests"
        return (
            f"The engine said nothing from {self.since:g} s to {self.until:g} s, while up to "
            f"{self.waiting:,} {noun} waited"
        )


@dataclass(frozen=True, slots=True)
class Late:
    """When the requests were due that reached the policy late, for the client's own cause."""

    due: np.ndarray[Any, np.dtype[np.float64]]

    @classmethod
    def of(cls, columns: SampleColumns) -> Late:
        """Those by over 10 ms, and those that were dropped."""
        due = columns.values(
            lambda b: np.where(
                (b.client_lag > ON_TIME) | b.became(Outcome.DROPPED), b.intended_at, np.nan
            )
        )
        return cls(due[~np.isnan(due)])

    def within(self, span: tuple[float, float]) -> Late:
        """Those that were due in it."""
        return Late(self.due[(self.due >= span[0]) & (self.due < span[1])])

    def windows(self) -> list[Mapping[str, Any]]:
        """The stretches of windows with late requests, in order."""
        counts = Counter(np.floor(self.due).astype(int).tolist())
        found: list[dict[str, Any]] = []
        for second, count in sorted(counts.items()):
            if found and found[-1]["to"] == second:
                found[-1]["to"] = second + 1
                found[-1]["requests"] += count
            else:
                found.append({"from": second, "to": second + 1, "requests": count})
        most = sorted(found, key=lambda one: -int(one["requests"]))[:MOST_WINDOWS]
        return sorted(most, key=lambda one: int(one["from"]))


def silences(windows: Sequence[Outline], stalls: Sequence[Stall]) -> Iterator[Silence]:
    """What the engine was silent for; where the client itself stood still, it can't tell."""
    found: list[Outline] = []
    for window in sorted(windows, key=lambda one: one.start):
        quiet = bool(window.in_flight_us) and not window.spoke and not _deaf(window, stalls)
        if found and (not quiet or window.start > found[-1].end):
            yield _together(found)
            found = []
        if quiet:
            found.append(window)
    if found:
        yield _together(found)


def explained(silence: Silence, late: Late) -> str:
    """What a silence has to do with a client that was late; empty where that is not seen.

    An engine that is slow, and asked little, is silent as a matter of course: so at least half of
    the late requests must have been due in one stretch of what may have been the burst. A long one
    is told where only the reading was late, too.
    """
    stretches = late.within(silence.burst).windows()
    most = max(stretches, key=lambda one: int(one["requests"]), default=None)
    if most is not None and 2 * int(most["requests"]) >= len(late.due):
        return (
            f"{silence}: {most['requests']:,} of the {len(late.due):,} requests that the client "
            f"sent late were due from {most['from']} s to {most['to']} s, as it went on."
        )
    if not len(late.due) and silence.length >= LONG:
        return f"{silence}: what the client read late may be all that came as it went on."
    return ""


def long_ones(found: Sequence[Silence]) -> Iterator[str]:
    """The longest of those that are told of any run, and how many there are."""
    long = [one for one in found if one.length >= LONG]
    if not long:
        return
    worst = max(long, key=lambda one: one.length)
    others = len(long) - 1
    times = "once more" if others == 1 else f"{others:,} more times"
    more = f", and {times} for {LONG:g} s or longer" if others else ""
    yield f"{worst}{more}."


def _deaf(window: Outline, stalls: Sequence[Stall]) -> bool:
    return any(since < window.end and until > window.start for since, until in stalls)


def _together(windows: Sequence[Outline]) -> Silence:
    most = max((window.in_flight_max or 1 for window in windows), default=1)
    return Silence(windows[0].start, windows[-1].end, most)

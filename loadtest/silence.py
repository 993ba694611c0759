"""When the engine said nothing while requests waited, and what of the client's lateness that made.

An engine that stood still for some seconds answers everybody at once as it goes on. No client reads
such a burst in time, and it sends late what falls due in it: the run is invalid, but the cause is
the engine's, and the windows outside the burst are as good as any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loadtest.outline import Outline
from measurement.columns import SampleColumns
from measurement.doubted import Stall
from measurement.outcome import Outcome
from measurement.validity import ON_TIME

Floats = NDArray[np.float64]

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
    went_on_until: float
    """The end of the last window, of those behind it, in which half as many were in flight."""

    @property
    def length(self) -> float:
        """In seconds."""
        return self.until - self.since

    @property
    def burst(self) -> tuple[float, float]:
        """From the window in which it may have gone on, until its backlog was gone: what was due in
        a burst can be late a window later. No longer than it was silent."""
        return self.until - 1.0, min(self.went_on_until + 1.0, self.until + self.length)

    def and_after_it(self, window: Outline) -> Silence:
        """The same, where a window behind it still has its backlog."""
        backlog = 2 * (window.in_flight_max or 0) >= self.waiting
        return replace(self, went_on_until=window.end) if backlog else self

    def __str__(self) -> str:
        noun = "request" if self.waiting == 1 else "requests"
        return (
            f"The engine said nothing from {self.since:g} s to {self.until:g} s, while up to "
            f"{self.waiting:,} {noun} waited"
        )


@dataclass(frozen=True, slots=True)
class Late:
    """What the client was late with, by when: seconds from the schedule's start."""

    sent: Floats
    """When the requests were due that reached the policy late, or were dropped."""
    read: Floats
    """When the first tokens came that it may have read late."""

    @classmethod
    def of(cls, columns: SampleColumns, firsts: Mapping[int, int]) -> Late:
        """Requests late by over 10 ms; first tokens as counted by the second."""
        due = columns.values(
            lambda b: np.where(
                (b.client_lag > ON_TIME) | b.became(Outcome.DROPPED), b.intended_at, np.nan
            )
        )
        seconds = np.array([*firsts.keys()], np.float64)
        return cls(due[~np.isnan(due)], np.repeat(seconds, [*firsts.values()]))

    def __len__(self) -> int:
        return len(self.sent) + len(self.read)

    def within(self, span: tuple[float, float]) -> Late:
        """What lies in it."""
        return Late(*(one[(one >= span[0]) & (one < span[1])] for one in (self.sent, self.read)))

    @property
    def span(self) -> tuple[int, int]:
        """The windows from the first to the last."""
        both = np.concatenate([self.sent, self.read])
        return int(both.min()), int(both.max()) + 1

    def windows(self) -> list[Mapping[str, int]]:
        """The stretches of windows with anything of it, in order."""
        sent, read = (Counter(one.astype(int).tolist()) for one in (self.sent, self.read))
        found: list[dict[str, int]] = []
        for second in sorted({*sent, *read}):
            if not found or found[-1]["to"] != second:
                found.append({"from": second, "to": second, "requests": 0, "first_tokens": 0})
            found[-1]["to"] = second + 1
            found[-1]["requests"] += sent[second]
            found[-1]["first_tokens"] += read[second]
        most = sorted(found, key=lambda one: -one["requests"] - one["first_tokens"])
        return sorted(most[:MOST_WINDOWS], key=lambda one: one["from"])


def silences(windows: Sequence[Outline], stalls: Sequence[Stall]) -> list[Silence]:
    """What the engine was silent for; where the client itself stood still, it can't tell."""
    found: list[Silence] = []
    quiet: list[Outline] = []
    for window in sorted(windows, key=lambda one: one.start):
        if quiet and window.start > quiet[-1].end:
            found.append(_together(quiet))
            quiet = []
        if window.in_flight_us and not window.spoke and not _deaf(window, stalls):
            quiet.append(window)
            continue
        if quiet:
            found.append(_together(quiet))
            quiet = []
        if found and window.start <= found[-1].went_on_until:
            found[-1] = found[-1].and_after_it(window)
    return [*found, *([_together(quiet)] if quiet else [])]


def explained(silence: Silence, late: Late) -> str:
    """What a silence has to do with a client that was late; empty where that is not seen.

    An engine that is slow, and asked little, is silent as a matter of course: so at least half of
    what was late must lie where its backlog came in. A long one is told where only the loop's lag
    shows that the client was late, too.
    """
    here = late.within(silence.burst)
    if len(here) and 2 * len(here) >= len(late):
        parts = []
        if len(late.sent):
            sent = f"{len(here.sent):,} of the {len(late.sent):,} requests"
            parts.append(f"{sent} that the client sent late were due")
        if len(late.read):
            read = f"{len(here.read):,} of the {len(late.read):,} first tokens"
            parts.append(f"{read} that it may have read late came")
        since, until = here.span
        return f"{silence}: {' and '.join(parts)} from {since} s to {until} s, as it went on."
    if not len(late) and silence.length >= LONG:
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
    return Silence(windows[0].start, windows[-1].end, most, windows[-1].end)

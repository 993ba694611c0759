"""When bytes reached this machine: the kernel's receive stamp, carried to the monotonic clock.

Linux stamps each packet with its wall clock (``SO_TIMESTAMPNS``). The wall clock may be stepped but
runs at the monotonic clock's pace (both are steered together), so one offset holds between two
steps. It is sampled by reading the wall clock between two readings of the monotonic one: half the
time between those two is the most by which the offset can be wrong.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from measurement.histogram import Histogram, HistogramBuilder

SO_TIMESTAMPNS = 35
"""As in asm-generic/socket.h; the control message that carries the stamp has the same number."""
RENEW_AFTER = 1.0
"""Seconds after which the offset is sampled anew."""
STEP = 0.001
"""Seconds by which two samples of the offset may differ without the wall clock being stepped."""

_TIMESPEC = struct.Struct("@ll")
_TRIES = 5
_NANO = 1e-9

Nanoseconds = Callable[[], int]
Ancillary = list[tuple[int, int, bytes]]


@dataclass(frozen=True, slots=True)
class Offset:
    """Monotonic minus wall, in ns, wrong by at most ``error``."""

    value: int
    error: int

    @classmethod
    def sampled(cls, monotonic: Nanoseconds, wall: Nanoseconds) -> Offset:
        """The best of a few tries: the one whose readings lie closest together."""
        found = []
        for _ in range(_TRIES):
            before, seen, after = monotonic(), wall(), monotonic()
            error = (after - before + 1) // 2
            found.append(cls(before + error - seen, error))
        return min(found, key=lambda offset: offset.error)


@dataclass(frozen=True, slots=True)
class ReceiveLag:
    """How late bytes were read after the kernel had them, and how far its stamps can be trusted."""

    lag: Histogram
    offset_error: float
    """Seconds: the most by which the offset between the two clocks was known to be wrong."""
    steps: int
    """How often the wall clock was stepped meanwhile."""
    unstamped: int
    """Reads without a usable stamp: their time is when they were read."""
    together: int
    """Reads with the stamp of the one before: sent together, or joined by the kernel as they waited
    and then stamped with the last one's time."""


def available() -> bool:
    """Whether this system stamps what it receives."""
    return sys.platform == "linux" and struct.calcsize("@l") == 8


class KernelClock:
    """Turns the stamps of one transport's reads into its clock's seconds."""

    def __init__(
        self, monotonic: Nanoseconds = time.monotonic_ns, wall: Nanoseconds = time.time_ns
    ) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._offset = Offset.sampled(monotonic, wall)
        self._sampled_at = monotonic()
        self._worst = self._offset.error
        self._steps = 0
        self._unstamped = 0
        self.together = 0
        """Reads with the stamp of the one before."""
        self._lag = HistogramBuilder()

    def arrived(self, ancillary: Ancillary, floor: float) -> float:
        """When the bytes of one read arrived, never before ``floor`` nor after now.

        A stamp from before a step of the wall clock would be off by the whole step; such a read
        keeps the time at which it was made.
        """
        now = self._monotonic()
        steps = self._steps
        if now - self._sampled_at > RENEW_AFTER / _NANO:
            self._renew(now)
        stamp = _stamp(ancillary)
        if stamp is None or self._steps != steps:
            self._unstamped += 1
            return now * _NANO
        at = min(stamp + self._offset.value, now)
        self._lag.record((now - at) * _NANO)
        return max(at * _NANO, floor)

    def lag(self) -> ReceiveLag:
        """What it has seen so far."""
        return ReceiveLag(
            self._lag.freeze(), self._worst * _NANO, self._steps, self._unstamped, self.together
        )

    def _renew(self, now: int) -> None:
        fresh = Offset.sampled(self._monotonic, self._wall)
        if abs(fresh.value - self._offset.value) > STEP / _NANO:
            self._steps += 1
        self._worst = max(self._worst, fresh.error)
        self._offset = fresh
        self._sampled_at = now


def _stamp(ancillary: Ancillary) -> int | None:
    """The kernel's stamp in ns of its wall clock."""
    for _level, kind, data in ancillary:
        if kind == SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return int(seconds) * 1_000_000_000 + int(nanoseconds)
    return None

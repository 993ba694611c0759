"""When bytes reached this machine: the kernel's receive stamp, carried to the monotonic clock.

Linux stamps each packet with its wall clock (``SO_TIMESTAMPNS``). The wall clock may be stepped but
runs at the monotonic clock's pace (both are steered together), so one offset holds between two
steps. It is sampled by reading the wall clock between two readings of the monotonic one: half the
time between those two is the most by which the offset can be wrong. Whether the wall clock was
stepped is looked at before anything is read: a stamp of its new time, carried by the old offset,
would be wrong by the whole step.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measurement.histogram import Histogram, HistogramBuilder

SO_TIMESTAMPNS = 35
"""As in asm-generic/socket.h; the control message that carries the stamp has the same number."""
STAMP_SPACE = socket.CMSG_SPACE(16) if hasattr(socket, "CMSG_SPACE") else 0
"""Bytes that the control message takes."""
RENEW_AFTER = 1.0
"""Seconds after which the offset is sampled anew."""
STEP = 0.001
"""Seconds by which two samples of the offset may differ without the wall clock being stepped."""

_TIMESPEC = struct.Struct("@ll")
_TRIES = 5
_NANO = 1e-9
_IN_NANO = np.array([1_000_000_000, 1], np.int64)
"""What a timespec's two numbers count, in ns."""
_STEP_NS = int(STEP * 1_000_000_000)
_FEW = 8
"""Stamps that are converted one by one, which is then the cheaper way."""
_MANY = 1024
"""Reads whose lag is worked out together."""

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
        self._late_at: list[NDArray[np.int64]] = []
        self._late_read: list[int] = []
        """When reads came and when they were read, of which the lag is still to be recorded."""
        self._stepped_at = -1

    def now(self) -> int:
        """The monotonic clock in ns, to be given with what is held; asked before each reading."""
        now = self._monotonic()
        if abs(now - self._wall() - self._offset.value) > _STEP_NS:
            self._renew(now)
        return now

    def arrived(self, ancillary: Ancillary, floor: float) -> float:
        """When the bytes of one read arrived, never before ``floor`` nor after now.

        A stamp from before a step of the wall clock would be off by the whole step; such a read
        keeps the time at which it was made. So does one whose stamp is from before a step
        was seen: it may be of the old time.
        """
        now = self._monotonic()
        self._look(now)
        return self._one(stamp_of(ancillary), now, now, floor)

    def all_arrived(
        self, raw: Sequence[bytes], read_at: Sequence[int], floor: float
    ) -> list[float]:
        """When the bytes of several reads of one stream arrived: ``arrived`` of each.

        Each is given as ``stamp_of`` its ancillary data, and when it was read by ``now``.
        """
        now = self._monotonic()
        self._look(now)
        joined = b"".join(raw)
        whole = len(joined) == len(raw) * _TIMESPEC.size
        if len(raw) < _FEW or read_at[0] <= self._stepped_at or not whole:
            return self._one_by_one(raw, read_at, now, floor)
        at = np.frombuffer(joined, np.int64).reshape(-1, 2) @ _IN_NANO
        at += self._offset.value
        if at[0] < self._stepped_at:
            return self._one_by_one(raw, read_at, now, floor)
        self._late_at.append(at)
        self._late_read += read_at
        if len(self._late_read) >= _MANY:
            self._record()
        seconds: list[float] = (np.maximum.accumulate(np.minimum(at, now)) * _NANO).tolist()
        return seconds if seconds[0] >= floor else [max(floor, one) for one in seconds]

    def _record(self) -> None:
        """The lag of what was read by now and came at once."""
        if self._late_read:
            late = np.array(self._late_read, np.int64) - np.concatenate(self._late_at)
            self._lag.record_array(np.maximum(late, 0) * _NANO)
            self._late_at, self._late_read = [], []

    def joined(self, events: int, wait: int) -> None:
        """One read brought several events: all but the last may have come ``wait`` ns before it."""
        several = max(1, events - 1)
        self.together += several
        self._lag.record(wait * _NANO, several)

    def _one_by_one(
        self, raw: Sequence[bytes], read_at: Sequence[int], now: int, floor: float
    ) -> list[float]:
        times = []
        for stamp, when in zip(raw, read_at, strict=True):
            floor = self._one(stamp, when, now, floor)
            times.append(floor)
        return times

    def _one(self, raw: bytes, read_at: int, now: int, floor: float) -> float:
        at = -1
        if raw and read_at > self._stepped_at:
            seconds, nanoseconds = _TIMESPEC.unpack(raw)
            at = min(seconds * 1_000_000_000 + nanoseconds + self._offset.value, now)
        if at < self._stepped_at or at < 0:
            self._unstamped += 1
            return max(read_at * _NANO, floor)
        self._lag.record(max(0, read_at - at) * _NANO)
        return max(at * _NANO, floor)

    def _look(self, now: int) -> None:
        """Sample the offset anew, when its time has come."""
        if now - self._sampled_at > RENEW_AFTER / _NANO:
            self._renew(now)

    def lag(self) -> ReceiveLag:
        """What it has seen so far."""
        self._record()
        return ReceiveLag(
            self._lag.freeze(), self._worst * _NANO, self._steps, self._unstamped, self.together
        )

    def _renew(self, now: int) -> None:
        fresh = Offset.sampled(self._monotonic, self._wall)
        if abs(fresh.value - self._offset.value) > _STEP_NS:
            self._steps += 1
            self._stepped_at = now
        self._worst = max(self._worst, fresh.error)
        self._offset = fresh
        self._sampled_at = now


def stamp_of(ancillary: Ancillary) -> bytes:
    """The kernel's stamp as it came; b"" where there is none."""
    for _level, kind, data in ancillary:
        if kind == SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
            return data
    return b""

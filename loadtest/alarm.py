"""An alarm that rings when it is due, to microseconds.

An event loop's own timers may be as coarse as a millisecond (uvloop's are): whoever must not be
early then wakes up several times before each moment. Linux has timers that are files to wait for
(``timerfd``); Python's own standard library knows them from 3.13 on, so the C library is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Protocol

_MONOTONIC = 1
_ABSOLUTE = 1
_SECOND = 1_000_000_000
_MOST_EARLY = 100_000
"""ns that it is woken before its time, at most: a processor takes some 50 µs to wake up, and not
always the same; what is left of them is waited for awake."""
_STEP = 200


class Alarm(Protocol):
    """Rings once, at the moment it was last set for."""

    def set(self, wait: float) -> None:
        """Ring in so many seconds."""
        ...

    def stop(self) -> None:
        """Ring no more."""
        ...


MakeAlarm = Callable[[Callable[[], None]], Alarm]
"""From what is called when it rings."""


class LoopAlarm:
    """By the event loop's own timers."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None

    def set(self, wait: float) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(wait, self._ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Spec(ctypes.Structure):
    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class FileAlarm:
    """By a timer of the kernel, to be made inside the event loop. OSError where there is none."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._file: int = self._library.timerfd_create(_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "no timer to wait for")
        self._ring = ring
        self._at = 0
        self._early = _MOST_EARLY // 2
        self._spec = _Spec(0, 0, 0, 0)
        self._pointer = ctypes.byref(self._spec)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._file, self._rang)

    def set(self, wait: float) -> None:
        self._at = time.monotonic_ns() + max(1, math.ceil(wait * _SECOND))
        self._spec.value_s, self._spec.value_ns = divmod(self._at - self._early, _SECOND)
        self._library.timerfd_settime(self._file, _ABSOLUTE, self._pointer, None)

    def _learn(self, late: int) -> None:
        """A step towards how late three of four awakenings are."""
        if late > self._early:
            self._early = min(_MOST_EARLY, self._early + 3 * _STEP)
        else:
            self._early = max(0, self._early - _STEP)

    def stop(self) -> None:
        if self._file >= 0:
            self._loop.remove_reader(self._file)
            os.close(self._file)
            self._file = -1

    def _rang(self) -> None:
        at, now = self._at, time.monotonic_ns()
        late = now - (at - self._early)
        if late < 0:
            return  # set anew meanwhile
        self._learn(late)
        while now < at:
            now = time.monotonic_ns()
        self._ring()
        if self._at == at and self._file >= 0:  # else to set it anew has silenced it
            with contextlib.suppress(BlockingIOError):
                os.read(self._file, 8)


def finest() -> MakeAlarm:
    """The kernel's timers where it has some to wait for, else the event loop's."""
    known = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "timerfd_create")
    return FileAlarm if known else LoopAlarm

"""An asyncio loop whose clock jumps: an hour of load in the time it takes to compute.

Where the loop would sleep, its clock moves to the next timer instead, so the order of everything
depends on the program alone. Only what lives in the loop can be waited for: a thread, or a socket
whose other end is outside, counts as standing still.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Standstill(RuntimeError):  # noqa: N818 - it says what happened
    """Every task waits for another and no timer is left: real time would hang here."""


class _JumpingSelector(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Standstill("virtual time stands still: every task waits for another")
            self.now += max(0.0, timeout)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that starts at 0 s and is never late."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop began."""
        return self._jumping.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time; raise Standstill when nothing can progress."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)

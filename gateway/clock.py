"""The gateway's clock: Unix seconds that never step back, so that slots agree between processes."""

from __future__ import annotations

import time
from collections.abc import Callable


class SteadyClock:
    """Wall time as it was at the start, carried on by the monotonic clock.

    Windows and slots of several gateways meet because all count from 1970; a corrected wall clock
    moves nothing until the next start.
    """

    __slots__ = ("_monotonic", "_offset")

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._monotonic = monotonic
        self._offset = wall() - monotonic()

    def __call__(self) -> float:
        return self._monotonic() + self._offset

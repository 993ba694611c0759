"""What a client notices of itself while load runs, read once a second: its CPU, its loop's lag."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

from loadtest.loopwatch import LoopWatch


def cpu_seconds() -> float:
    """Of this process so far, in user and in kernel mode."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Pulse:
    """Each beat is about the time since the last one; the first, since it was made."""

    def __init__(
        self,
        watch: LoopWatch,
        *,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = cpu_seconds,
    ) -> None:
        self._watch, self._clock, self._cpu = watch, clock, cpu
        self._at, self._used = clock(), cpu()

    def beat(self) -> dict[str, Any]:
        """``cpu_share`` and ``loop_lag_max_ms`` since the last one, ``loop_lag_p99_ms`` so far."""
        at, used = self._clock(), self._cpu()
        took, spent = at - self._at, used - self._used
        self._at, self._used = at, used
        lag = self._watch.lag.freeze().percentile(99)
        return {
            "cpu_share": round(spent / took, 4) if took > 0 else None,
            "loop_lag_p99_ms": None if lag is None else round(1e3 * lag, 3),
            "loop_lag_max_ms": round(1e3 * self._watch.worst_since(), 3),
        }

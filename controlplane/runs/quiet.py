"""How long an engine has said nothing while a run's requests wait for it.

A verdict so far is about requests that ended. An engine that freezes ends none, so every share
stays as good as it was until the time-outs; what is known at once is that nothing comes, and which
of those that wait have missed their objective already.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from measurement.slo import Slo
from measurement.window import Window

QUIET_AFTER = 10.0
"""Seconds after which it is told: a long prompt may hold up every stream for some of them."""


class Quiet:
    """Fed with a run's windows as they come, in any order and revised."""

    def __init__(self, slo: Slo | None = None, *, since: float = 0.0) -> None:
        """``since``: where warm-up ends; what was intended before is not judged."""
        self._spoke_until = 0.0
        self._newest: Window | None = None
        self._since = since
        self._pending: dict[int, Window] = {}
        self._ttft, self._e2e = (_most_lenient(slo, name) for name in ("ttft_ms", "e2e_ms"))

    def take(self, windows: Iterable[Window]) -> None:
        """Windows that changed."""
        for window in windows:
            events = window.events
            if events.tokens or events.completed:
                self._spoke_until = max(self._spoke_until, window.end)
            if self._newest is None or window.index >= self._newest.index:
                self._newest = window
            self._pending.pop(window.index, None)
            if window.cohort.pending and window.start >= self._since:
                self._pending[window.index] = window

    def to_json(self) -> dict[str, Any]:
        """``quiet_s``, 0 while nobody waits, how many do, and how many of them missed surely."""
        if self._newest is None or not self._newest.events.in_flight_mean:
            return {"quiet_s": 0.0, "waiting": 0, "overdue": 0}
        waiting = round(self._newest.events.in_flight_mean)
        return {
            "quiet_s": max(0.0, self._newest.end - self._spoke_until),
            "waiting": max(1, waiting),
            "overdue": self._overdue(self._newest.end),
        }

    def _overdue(self, now: float) -> int:
        """Those not ended in time, and those of after the last token, who have had no first."""

        def late(window: Window) -> bool:
            waited = now - window.end
            unheard = window.start >= self._spoke_until
            return waited > self._e2e or (unheard and waited > self._ttft)

        return sum(one.cohort.pending for one in self._pending.values() if late(one))


def _most_lenient(slo: Slo | None, metric: str) -> float:
    """Seconds that every tenant's and band's threshold allows at most; infinite without one."""
    if slo is None:
        return math.inf
    rows = [row for tenant in (None, *slo.tenants) for row in slo.table(tenant)]
    return max((row.maxima.get(metric, math.inf) for row in rows), default=math.inf) / 1e3


def is_quiet(live: Mapping[str, Any]) -> bool:
    """Whether that is long enough to say so."""
    return float((live.get("quiet") or {}).get("quiet_s") or 0.0) >= QUIET_AFTER


def overdue(live: Mapping[str, Any]) -> int:
    """Requests that have missed an objective and wait still, while the engine says nothing."""
    return int((live.get("quiet") or {}).get("overdue") or 0) if is_quiet(live) else 0

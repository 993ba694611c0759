"""How long an engine has said nothing while a run's requests wait for it.

A verdict so far is about requests that ended. An engine that freezes ends none, so every share
stays as good as it was until the time-outs; what is known at once is that nothing comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from measurement.window import Window

QUIET_AFTER = 10.0
"""Seconds after which it is told: a long prompt may hold up every stream for some of them."""


class Quiet:
    """Fed with a run's windows as they come, in any order and revised."""

    def __init__(self) -> None:
        self._spoke_until = 0.0
        self._newest: Window | None = None

    def take(self, windows: Iterable[Window]) -> None:
        """Windows that changed."""
        for window in windows:
            events = window.events
            if events.tokens or events.completed:
                self._spoke_until = max(self._spoke_until, window.end)
            if self._newest is None or window.index >= self._newest.index:
                self._newest = window

    def to_json(self) -> dict[str, Any]:
        """``quiet_s``, 0 while nobody waits, and how many do."""
        if self._newest is None or not self._newest.events.in_flight_mean:
            return {"quiet_s": 0.0, "waiting": 0}
        waiting = round(self._newest.events.in_flight_mean)
        return {
            "quiet_s": max(0.0, self._newest.end - self._spoke_until),
            "waiting": max(1, waiting),
        }


def is_quiet(live: Mapping[str, Any]) -> bool:
    """Whether that is long enough to say so."""
    return float((live.get("quiet") or {}).get("quiet_s") or 0.0) >= QUIET_AFTER

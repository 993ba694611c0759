"""The shadow of a lane: a second version that sees what the lane sees, and that nobody obeys."""

from __future__ import annotations

import dataclasses
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from schedulers.concurrency.base import ConcurrencyLaw, Observation
from schedulers.decision import Decision
from schedulers.document import Policy
from schedulers.runtime.shadow import Shadow, ShadowReport

KEPT_DECISIONS = 2000

log = logging.getLogger("headway.gateway")


class LaneShadow:
    """An observer of the lane's limiter. Which version it runs may change between two requests.

    A law that fails here ends the shadow of this lane, and never a request.
    """

    def __init__(self, cost_clock: Callable[[], float]) -> None:
        self._cost_clock = cost_clock
        self._shadow: Shadow | None = None
        self.policy: Policy | None = None
        self.decisions: deque[Decision] = deque(maxlen=KEPT_DECISIONS)
        self.deciding_seconds = 0.0
        self.fault = ""
        """Why it ended, empty while it has not."""

    def run(self, policy: Policy | None, law: ConcurrencyLaw[Any] | None) -> None:
        """Shadow this version from now on, or none; nothing happens when it does already."""
        if (policy and policy.sha256) == (self.policy and self.policy.sha256):
            return
        self.policy = policy
        self.decisions.clear()
        self.deciding_seconds = 0.0
        self.fault = ""
        self._shadow = None if law is None else Shadow(law, self.decisions.append)

    @property
    def report(self) -> ShadowReport | None:
        """What came of it so far; None without a shadow, and of one that failed."""
        return None if self._shadow is None else self._shadow.report

    def granted(self, in_flight: int) -> None:
        """The lane let a request through."""
        if self._shadow is not None:
            self._shadow.granted(in_flight)

    def observed(self, seen: Observation, now: float, limit: int) -> None:
        """The lane's law has learned from this, and now allows ``limit``."""
        if self._shadow is None:
            return
        began = self._cost_clock()
        try:
            self._shadow.observed(seen, now, limit)
        except Exception as error:
            log.exception("the shadow of a lane failed; it is off, and the lane serves on")
            self.fault = f"{type(error).__name__}: {error}"
            self._shadow = None
        self.deciding_seconds += self._cost_clock() - began


def report_json(report: ShadowReport) -> dict[str, Any]:
    """Every count, the share that agreed, and where the two first did not."""
    return {**dataclasses.asdict(report), "agreement": report.agreement}

"""What a lane's own bounds are to the laws that rank its queue, and how their answers are told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from gateway.config_parts import QueueRules
from gateway.errors import Refusal
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.runtime.admission import Shed
from schedulers.runtime.caps import Caps

_CODES = {Reason.EXPIRED: "queue_timeout"}
"""Codes that the gateway had before there were laws; the others are the reasons themselves."""
_TOLD = 20
"""Decisions of one point that are kept of one second; changes of a limit are all kept."""


def caps_of(rules: QueueRules) -> Caps:
    """One bound and one time to live for all tiers; a full queue displaces the lowest."""
    bound, ttl = max(1, rules.bound), rules.ttl_s
    return Caps(
        total=bound,
        vip=bound,
        normal=bound,
        batch=bound,
        vip_ttl_s=ttl,
        normal_ttl_s=ttl,
        batch_ttl_s=ttl,
    )


def refusal_of(shed: Shed) -> Refusal:
    """What a caller is told: the reason as a code, and when to come back."""
    code = _CODES.get(shed.reason, str(shed.reason))
    return Refusal(429, code, shed.reason.meaning, retry_after=shed.retry_after_s)


class Kept:
    """Of the decisions about single requests, those that changed something, some each second."""

    def __init__(self, keep: Callable[[Decision], None]) -> None:
        self._keep = keep
        self._second = -math.inf
        self._told = Counter[DecisionPoint]()

    def __call__(self, decision: Decision) -> None:
        if decision.before == decision.after:
            return
        second = math.floor(decision.at)
        if second != self._second:
            self._second = second
            self._told.clear()
        self._told[decision.point] += 1
        if self._told[decision.point] <= _TOLD:
            self._keep(decision)

"""Decisions: what a policy concluded, when, from which inputs, and for which closed reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class DecisionPoint(StrEnum):
    """The six places where a policy acts, in the order in which a request meets them."""

    ADMISSION = "admission"
    ORDERING = "ordering"
    CONCURRENCY = "concurrency"
    BATCHING = "batching"
    PREEMPTION = "preemption"
    RETRY = "retry"


class Reason(StrEnum):
    """Why a law decided as it did. The list is closed; ``meaning`` is the sentence a page shows."""

    GROWN = "grown"
    APP_LIMITED = "app_limited"
    AT_MAXIMUM = "at_maximum"
    AT_MINIMUM = "at_minimum"
    STEADY = "steady"
    RTT_INFLATED = "rtt_inflated"
    TIMED_OUT = "timed_out"
    REJECTED_BY_ENGINE = "rejected_by_engine"
    BASELINE_EXPIRED = "baseline_expired"
    PROBE = "probe"
    UNDO = "undo"
    STALE_SIGNALS = "stale_signals"
    KV_CEILING = "kv_ceiling"
    TENANT_BUDGET = "tenant_budget"
    HOPELESS = "hopeless"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return MEANINGS[self]


MEANINGS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.GROWN: "The limit was reached and nothing was wrong, so it was raised.",
        Reason.APP_LIMITED: "Traffic never reached the limit, so its health proves nothing.",
        Reason.AT_MAXIMUM: "The law would raise the limit, but it stands at its maximum.",
        Reason.AT_MINIMUM: "The law would lower the limit, but it stands at its minimum.",
        Reason.STEADY: "What was measured called for no change.",
        Reason.RTT_INFLATED: "Latency stands above its baseline: a queue has formed.",
        Reason.TIMED_OUT: "A request took longer than the time-out that counts as overload.",
        Reason.REJECTED_BY_ENGINE: "The engine refused a request (429 or 503).",
        Reason.BASELINE_EXPIRED: "The latency baseline was too old and is learned anew.",
        Reason.PROBE: "The law tries another value to learn what it does.",
        Reason.UNDO: "A cut did not lower latency, so it was no queue: the cut is taken back.",
        Reason.STALE_SIGNALS: "The engine's signals are too old to trust.",
        Reason.KV_CEILING: "The KV cache would go over its ceiling.",
        Reason.TENANT_BUDGET: "The tenant has spent its budget.",
        Reason.HOPELESS: "The request could no longer meet its objective.",
    }
)


@dataclass(frozen=True, slots=True)
class Decision:
    """One step of a policy. For concurrency, before and after are the limits that were enforced."""

    at: float
    point: DecisionPoint
    law: str
    before: float
    after: float
    reason: Reason
    inputs: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """One line of the controller trace; a number that JSON can't hold becomes null."""
        return {
            "at": self.at,
            "point": str(self.point),
            "law": self.law,
            "before": self.before,
            "after": self.after,
            "reason": str(self.reason),
            "inputs": {
                name: value if value is not None and math.isfinite(value) else None
                for name, value in self.inputs.items()
            },
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Decision:
        """Read one line of a trace back."""
        return cls(
            at=line["at"],
            point=DecisionPoint(line["point"]),
            law=line["law"],
            before=line["before"],
            after=line["after"],
            reason=Reason(line["reason"]),
            inputs=dict(line["inputs"]),
        )

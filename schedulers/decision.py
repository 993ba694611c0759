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
    NO_GAIN = "no_gain"
    RTT_INFLATED = "rtt_inflated"
    TIMED_OUT = "timed_out"
    REJECTED_BY_ENGINE = "rejected_by_engine"
    BASELINE_EXPIRED = "baseline_expired"
    PROBE = "probe"
    UNDO = "undo"
    STALE_SIGNALS = "stale_signals"
    NO_SIGNALS = "no_signals"
    KV_CEILING = "kv_ceiling"
    TENANT_BUDGET = "tenant_budget"
    HOPELESS = "hopeless"
    ADMITTED = "admitted"
    SLOTS_FULL = "slots_full"
    PREFILL_BACKLOG = "prefill_backlog"
    SATURATED = "saturated"
    CIRCUIT_OPEN = "circuit_open"
    QUEUE_DELAY = "queue_delay"
    QUEUE_FULL = "queue_full"
    DISPLACED = "displaced"
    EXPIRED = "expired"
    SERVED_ALONE = "served_alone"
    IN_TURN = "in_turn"
    MINIMUM_SHARE = "minimum_share"
    AGED = "aged"
    RETRIED = "retried"
    NOT_RETRYABLE = "not_retryable"
    ATTEMPTS_SPENT = "attempts_spent"
    RETRY_BUDGET = "retry_budget"
    PAST_DEADLINE = "past_deadline"
    THROTTLED = "throttled"
    HIT_RATE_LOW = "hit_rate_low"
    ROOM_FOR_MORE = "room_for_more"
    TOKEN_BUDGET = "token_budget"  # noqa: S105 - tokens of a step
    TPOT_BUDGET = "tpot_budget"
    BATCH_RUNNING = "batch_running"
    GATHERING = "gathering"
    LAST_IN = "last_in"
    LEAST_URGENT = "least_urgent"
    LEAST_DONE = "least_done"
    MOST_SLACK = "most_slack"
    ALL_IMMUNE = "all_immune"

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
        Reason.NO_GAIN: "More in flight would cost more latency than it gives throughput.",
        Reason.RTT_INFLATED: "Latency stands above its baseline: a queue has formed.",
        Reason.TIMED_OUT: "A request took longer than the time-out that counts as overload.",
        Reason.REJECTED_BY_ENGINE: "The engine refused a request (429 or 503).",
        Reason.BASELINE_EXPIRED: "The latency baseline was too old and is learned anew.",
        Reason.PROBE: "The law tries another value to learn what it does.",
        Reason.UNDO: "A cut did not lower latency, so it was no queue: the cut is taken back.",
        Reason.STALE_SIGNALS: "The engine's signals are too old to trust.",
        Reason.NO_SIGNALS: "The engine tells nothing of itself, so what was let in counts.",
        Reason.KV_CEILING: "The KV cache would go over its ceiling.",
        Reason.TENANT_BUDGET: "The tenant has spent its budget.",
        Reason.HOPELESS: "The request could no longer meet its objective.",
        Reason.ADMITTED: "There was room, so the request was taken.",
        Reason.SLOTS_FULL: "As many requests run as this tier may have.",
        Reason.PREFILL_BACKLOG: "Prompts that wait for prefill would delay this one too long.",
        Reason.SATURATED: "The engine is saturated: its queue or KV cache is over the threshold.",
        Reason.CIRCUIT_OPEN: "Too many requests failed, so none is sent for a while.",
        Reason.QUEUE_DELAY: "Requests have stood in the queue for too long, so one is shed.",
        Reason.QUEUE_FULL: "The queue holds as many requests as it may.",
        Reason.DISPLACED: "A more urgent request took its place in a full queue.",
        Reason.EXPIRED: "It waited longer than its tier may.",
        Reason.SERVED_ALONE: "It is larger than the budget, so it is taken while nothing runs.",
        Reason.IN_TURN: "It ranks first among those that wait.",
        Reason.MINIMUM_SHARE: "Its tier was below its minimum share, so it went first.",
        Reason.AGED: "It had waited past the ageing bound, so it went first within its tier.",
        Reason.RETRIED: "It is sent again after the wait.",
        Reason.NOT_RETRYABLE: "Sending it again would not help, or the policy never does.",
        Reason.ATTEMPTS_SPENT: "It was tried as often as it may be.",
        Reason.RETRY_BUDGET: "Retries have spent their share of the traffic.",
        Reason.PAST_DEADLINE: "The wait would end after the deadline.",
        Reason.THROTTLED: "So many were refused of late that the client refuses this one itself.",
        Reason.HIT_RATE_LOW: "The KV cache is full and prefixes are no longer found in it.",
        Reason.ROOM_FOR_MORE: "The KV cache has room for one more agent's context and growth.",
        Reason.TOKEN_BUDGET: "The step holds as many tokens as it may.",
        Reason.TPOT_BUDGET: "A larger step would make decoding slower than its objective.",
        Reason.BATCH_RUNNING: "The batch that runs must end before another begins.",
        Reason.GATHERING: "The engine is idle and waits a moment for company to prefill with.",
        Reason.LAST_IN: "It joined last.",
        Reason.LEAST_URGENT: "Its tier is the least urgent of those that run.",
        Reason.LEAST_DONE: "It has the least work to lose.",
        Reason.MOST_SLACK: "It can best afford to wait.",
        Reason.ALL_IMMUNE: "All are immune, so immunity was lifted: someone must go.",
    }
)


@dataclass(frozen=True, slots=True)
class Decision:
    """One step of a policy.

    For concurrency, before and after are the limits that were enforced; for the other points, what
    was asked and what was granted of it: tokens (admission, batching, preemption), a place from 1
    (ordering), attempts (retry).
    """

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

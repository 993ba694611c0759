"""Micro-wait: an idle engine waits a moment for company to prefill with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.batching.base import (
    MOST_SEQUENCES,
    MOST_TOKENS,
    Load,
    StepPlan,
    Unlearning,
    batching_law,
    worth_waiting,
)
from schedulers.decision import Reason
from schedulers.law import Fault, Standing

RULES = ("gain", "reference")
HARD_S = 0.005
"""Nobody ever waits longer than this for company, whatever the parameters."""


@batching_law
@dataclass(frozen=True, slots=True)
class MicroWait(Unlearning):
    """``reference``: the batching source's rule, with load = arrival rate × first_ms::

        0 when full or load < 0.15, else clamp(max_wait_ms × (1 − load), 0.5 ms, max_wait_ms)

    ``gain``: wait only if it pays. One more request that joins saves first_ms of engine time;
    waiting costs every waiting request its time: wait iff λ × saved > waiting, and the most urgent
    can afford it. Neither waits while anything decodes: it would add to every token's time. The
    oldest never waits longer than ``max_wait_ms`` in all, nor than 5 ms.
    """

    name: ClassVar[str] = "micro_wait"
    summary: ClassVar[str] = (
        "Continuous batching that lets an idle engine wait up to 5 ms for more prompts to prefill "
        "together; by the source's rule or only where it pays."
    )
    standing: ClassVar[Standing] = Standing.REFERENCE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Waiting never improved latency: with steps of 14 + n ms the source's rule cost 0.2 "
            "to 2 "
            "ms of mean TTFT at 5 to 400 requests/s and saved 1 to 3 % of engine time (plant S12)."
        ),
        Fault(
            "The source calls it an exponential decay in the arrival rate; it is linear, jumps "
            "from "
            "0 to 2.55 ms at load 0.15, where least is gained, and leaves load undefined."
        ),
    )

    rule: str = parameter(default="gain", choices=RULES, help="When to wait.")
    max_wait_ms: float = parameter(
        default=3.0, minimum=0.0, maximum=5.0, unit="ms", help="The longest wait of the oldest."
    )
    first_ms: float = parameter(
        default=14.0,
        minimum=0.1,
        maximum=1000.0,
        unit="ms",
        help="Engine time that a prefill step costs whatever it holds: what joining saves.",
    )
    max_batch: int = parameter(
        default=64, minimum=1, maximum=MOST_SEQUENCES, unit="sequences", help="A full prefill."
    )
    token_budget: int = parameter(
        default=2048, minimum=256, maximum=MOST_TOKENS, unit="tokens", help="Tokens in one step."
    )

    def plan(self, state: None, seen: Load, now: float) -> StepPlan:
        wait = self._wait(seen) if seen.idle and 0 < seen.waiting < self.max_batch else 0.0
        left = min(self.max_wait_ms / 1e3, HARD_S) - seen.oldest_wait
        wait = worth_waiting(min(wait, left))
        if seen.least_slack is not None and wait >= seen.least_slack:
            wait = 0.0
        return StepPlan(
            reason=Reason.GATHERING if wait > 0.0 else Reason.STEADY,
            token_budget=max(self.token_budget, seen.decoding),
            max_sequences=max(self.max_batch, seen.decoding + seen.prefilling),
            wait_s=wait,
            inputs={"arrival_rate": seen.arrival_rate},
        )

    def _wait(self, seen: Load) -> float:
        """By the rule alone; an unknown arrival rate is a reason not to wait."""
        if seen.arrival_rate is None or not seen.arrival_rate > 0.0:
            return 0.0
        load = seen.arrival_rate * self.first_ms / 1e3
        most = self.max_wait_ms / 1e3
        if self.rule == "reference":
            return 0.0 if load < 0.15 else max(min(0.0005, most), most * (1.0 - min(1.0, load)))
        return most if load > seen.waiting and seen.waiting < 8 else 0.0

"""The agents source's law as its text and its code have it, faults and all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.concurrency.base import (
    LIMIT_CEILING,
    AgentLoad,
    Observation,
    check_bounds,
    concurrency_law,
    decided,
)
from schedulers.decision import Decision, Reason
from schedulers.law import Fault, Guarantee, Standing

SIGNALS = ("formula", "code")


@dataclass(frozen=True, slots=True)
class RoundState:
    """``due_at``: when the next round ends."""

    limit: float
    due_at: float | None = None


@concurrency_law
@dataclass(frozen=True, slots=True)
class ConcurReference:
    """Every round, with U the share of KV used, E evictions and R turns since the last::

    formula    C = U × E / R
    code       C = U × (1 + E / R)
    C < threshold: N ← N + add; else N ← N × backoff
    """

    name: ClassVar[str] = "concur_reference"
    summary: ClassVar[str] = (
        "The agents source's AIMD on a congestion signal of KV use and evictions, by its formula "
        "or "
        "by its code, which differ."
    )
    standing: ClassVar[Standing] = Standing.REFERENCE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "The formula is about 0 until nearly every turn evicts, so it grows into "
            "collapse; the code cuts from U = 0.75 on and little else: 264 and 370 tok/s "
            "where the best fixed count does 468 (plant S10). Neither is the paper's law, "
            "which has the hit rate and a dead band."
        ),
        Fault(
            "Cuts each round while KV frees only as agents end, so the limit winds down to its "
            "floor; and it grows whatever is active.",
            breaks=Guarantee.NO_GROWTH_WHILE_APP_LIMITED,
        ),
    )

    congestion: str = parameter(
        default="code", choices=SIGNALS, help="Which of the two the signal is."
    )
    min: int = parameter(
        default=8, minimum=1, maximum=LIMIT_CEILING, unit="agents", help="The lowest limit."
    )
    max: int = parameter(
        default=256, minimum=1, maximum=LIMIT_CEILING, unit="agents", help="The highest limit."
    )
    initial: int = parameter(
        default=32,
        minimum=1,
        maximum=LIMIT_CEILING,
        unit="agents",
        help="The limit before anything was seen; between min and max.",
    )
    add: float = parameter(
        default=2.0, minimum=0.1, maximum=64.0, unit="agents", help="What a round adds (α)."
    )
    backoff: float = parameter(
        default=0.8, minimum=0.1, maximum=0.99, help="The factor of a cut (β)."
    )
    threshold: float = parameter(
        default=0.75, minimum=0.01, maximum=10.0, help="The signal from which it cuts."
    )
    round_s: float = parameter(
        default=5.0, minimum=0.1, maximum=3600.0, unit="s", help="Length of a round."
    )

    def __post_init__(self) -> None:
        check_bounds(self.min, self.initial, self.max)

    def start(self) -> RoundState:
        return RoundState(float(self.initial))

    def step(
        self, state: RoundState, seen: Observation, now: float
    ) -> tuple[RoundState, Decision | None]:
        load = seen.agents
        if not seen.in_order(now) or load is None:
            return state, None
        signal = self._signal(load)
        if signal is None:
            return state, None
        if state.due_at is None:
            return RoundState(state.limit, now + self.round_s), None
        if now < state.due_at:
            return state, None
        if signal < self.threshold:
            after = min(float(self.max), state.limit + self.add)
            reason = Reason.GROWN if after > state.limit else Reason.AT_MAXIMUM
        else:
            after = max(float(self.min), state.limit * self.backoff)
            reason = Reason.KV_CEILING if after < state.limit else Reason.AT_MINIMUM
        decision = decided(
            self, now, state.limit, after, reason, kv_used=load.kv_used, signal=signal
        )
        return RoundState(after, now + self.round_s), decision

    def _signal(self, load: AgentLoad) -> float | None:
        if load.kv_used is None or not math.isfinite(load.kv_used):
            return None
        ratio = max(0, load.evicted) / max(1, load.turns)
        return load.kv_used * (ratio if self.congestion == "formula" else 1.0 + ratio)

    def limit(self, state: RoundState) -> int:
        return int(state.limit)

    def until(self, state: RoundState) -> float:
        return math.inf if state.due_at is None else state.due_at

    def bounds(self) -> tuple[int, int]:
        return self.min, self.max

"""Reserve what a request will come to hold of the KV cache; the recommended admission law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from documents.fields import parameter
from schedulers.admission.base import (
    Action,
    Answer,
    Ended,
    Reservation,
    admission_law,
    hold,
)
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.ledger import Ledger
from schedulers.request import Request
from schedulers.signals import Signals, fresh


class ReserveState(NamedTuple):
    """The engine's sizes are remembered from the last reading that told them."""

    ledger: Ledger = Ledger()
    kv_tokens: int | None = None
    max_running: int | None = None
    prefill_rate: float | None = None


@admission_law
@dataclass(frozen=True, slots=True)
class KvReserve:
    """With μ = prompt + expected output of each admitted request, σ² its variance, K the cache::

        KV        Σμ + z √Σσ² ≤ ceiling(tier) × K      (K: kv_usable of the engine's tokens)
        slots     admitted < slots(tier) × max_running
        prefill   prompts not yet computed + this one ≤ budget(tier) × prefill rate

    All three must hold, each with a lower bound for lower tiers, so that room is left for vip.
    Outputs are learned for each tier. Where the measured KV use is above the ledger's, as others
    share the engine, it counts. An empty engine takes any request: what is larger than a budget is
    served alone. With no reading for three polls the sizes are still known, but each ceiling is
    that of the tier below: the ledger can't see what others do.
    """

    name: ClassVar[str] = "kv_reserve"
    summary: ClassVar[str] = (
        "Admits while the peak KV of all admitted requests, the slots and the prefill backlog stay "
        "under ceilings by tier; lengths are learned."
    )
    standing: ClassVar[Standing] = Standing.RECOMMENDED
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Learned means serve stable mixes: when outputs suddenly become longer it over-admits "
            "for about fifty requests, and preemptions fill the gap."
        ),
        Fault(
            "Requests whose prefix is shared are charged in full: it admits less than an engine "
            "with a high prefix hit rate could hold."
        ),
    )

    kv_usable: float = parameter(
        default=0.95, minimum=0.1, maximum=1.0, help="Share of the KV cache that may be promised."
    )
    z: float = parameter(
        default=1.0,
        minimum=0.0,
        maximum=4.0,
        unit="standard deviations",
        help="How surely the promised peak fits.",
    )
    vip_ceiling: float = parameter(
        default=0.95, minimum=0.05, maximum=1.0, help="Share of it up to which vip is taken."
    )
    normal_ceiling: float = parameter(
        default=0.85, minimum=0.05, maximum=1.0, help="Share of it up to which normal is taken."
    )
    batch_ceiling: float = parameter(
        default=0.70, minimum=0.05, maximum=1.0, help="Share of it up to which batch is taken."
    )
    vip_slots: float = parameter(
        default=1.0, minimum=0.05, maximum=1.0, help="Share of running places for vip."
    )
    normal_slots: float = parameter(
        default=0.90, minimum=0.05, maximum=1.0, help="Share of running places for normal."
    )
    batch_slots: float = parameter(
        default=0.75, minimum=0.05, maximum=1.0, help="Share of running places for batch."
    )
    vip_prefill_s: float = parameter(
        default=2.0, minimum=0.01, maximum=600.0, unit="s", help="Prefill backlog for vip."
    )
    normal_prefill_s: float = parameter(
        default=0.5, minimum=0.01, maximum=600.0, unit="s", help="Prefill backlog for normal."
    )
    batch_prefill_s: float = parameter(
        default=0.3, minimum=0.01, maximum=600.0, unit="s", help="Prefill backlog for batch."
    )
    max_running: int = parameter(
        default=128,
        minimum=1,
        maximum=100_000,
        unit="requests",
        help="Running places where the engine doesn't tell.",
    )
    output_tokens: float = parameter(
        default=512.0,
        minimum=1.0,
        maximum=1e6,
        unit="tokens",
        help="Output that is assumed before any was seen.",
    )

    def start(self) -> ReserveState:
        return ReserveState()

    def offer(
        self, state: ReserveState, request: Request, seen: Signals | None, now: float
    ) -> tuple[ReserveState, Answer]:
        reading = fresh(seen, now)
        state = _sized(state, reading)
        one = self._reservation(state, request)
        band = request.band if reading is not None or seen is None else min(2, request.band + 1)
        lacking = self._lacking(state, one, band, reading)
        if lacking is None or state.ledger.admitted == 0:
            ledger = state.ledger.add(one.tokens, one.variance, one.prefill)
            taken = ReserveState(ledger, state.kv_tokens, state.max_running, state.prefill_rate)
            alone = Reason.ADMITTED if lacking is None else Reason.SERVED_ALONE
            return taken, Answer(
                action=Action.ADMIT,
                reason=alone,
                reservation=one,
                inputs={"tokens": one.tokens, "promised": ledger.tokens},
            )
        stale = reading is None and seen is not None
        reason = Reason.STALE_SIGNALS if stale else lacking
        inputs = {"tokens": one.tokens, "promised": state.ledger.tokens}
        return state, hold(reason, math.inf, **inputs)

    def reserve(
        self, state: ReserveState, request: Request, *, prefilled: bool, now: float
    ) -> tuple[ReserveState, Reservation]:
        one = self._reservation(state, request)
        one = one._replace(prefill=0.0) if prefilled else one
        ledger = state.ledger.add(one.tokens, one.variance, one.prefill)
        return state._replace(ledger=ledger), one

    def prefilled(self, state: ReserveState, reservation: Reservation, now: float) -> ReserveState:
        ledger = state.ledger.prefilled(reservation.prefill)
        return ReserveState(ledger, state.kv_tokens, state.max_running, state.prefill_rate)

    def ended(self, state: ReserveState, over: Ended, now: float) -> ReserveState:
        one = over.reservation
        prefill = 0.0 if over.prefilled else one.prefill
        ledger = state.ledger.remove(one.tokens, one.variance, prefill)
        if over.kind == "ok" and over.output_tokens is not None:
            tier = over.request.tier
            ledger = ledger.learned(tier, float(over.output_tokens), self.output_tokens)
        return ReserveState(ledger, state.kv_tokens, state.max_running, state.prefill_rate)

    def _reservation(self, state: ReserveState, request: Request) -> Reservation:
        length = state.ledger.length(request.tier, self.output_tokens)
        output = request.output(length.mean, self.output_tokens)
        variance = 0.0 if request.expected_output is not None else length.variance
        if request.max_tokens is not None:
            variance = min(variance, max(0.0, request.max_tokens - output) ** 2)
        tokens = request.prompt_tokens + output
        return Reservation(tokens, variance, float(request.uncached_tokens))

    def _lacking(
        self, state: ReserveState, one: Reservation, band: int, reading: Signals | None
    ) -> Reason | None:
        """What stands against it, or None."""
        ledger = state.ledger
        if state.kv_tokens is not None:
            room = self.kv_usable * state.kv_tokens
            ceiling = (self.vip_ceiling, self.normal_ceiling, self.batch_ceiling)[band]
            peak = ledger.peak(one.tokens, one.variance, self.z)
            use = reading.kv() if reading is not None else None
            held = (use or 0.0) * state.kv_tokens + one.tokens
            if max(peak, held) > ceiling * room:
                return Reason.KV_CEILING
        slots = (self.vip_slots, self.normal_slots, self.batch_slots)[band]
        if ledger.admitted >= slots * (state.max_running or self.max_running):
            return Reason.SLOTS_FULL
        if state.prefill_rate is not None and ledger.prefill > 0.0:
            budget = (self.vip_prefill_s, self.normal_prefill_s, self.batch_prefill_s)[band]
            if ledger.prefill + one.prefill > budget * state.prefill_rate:
                return Reason.PREFILL_BACKLOG
        return None


def _sized(state: ReserveState, reading: Signals | None) -> ReserveState:
    """Sizes don't grow stale: they are remembered."""
    if reading is None:
        return state
    sizes = (
        reading.kv_tokens or state.kv_tokens,
        reading.max_running or state.max_running,
        reading.prefill_rate or state.prefill_rate,
    )
    return state if sizes == state[1:] else ReserveState(state.ledger, *sizes)

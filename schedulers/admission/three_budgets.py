"""Three budgets: compute, KV with oversubscription, and each tenant's share of misses."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    shed,
)
from schedulers.decision import Reason
from schedulers.law import Fault, Standing
from schedulers.ledger import Ledger
from schedulers.request import Request
from schedulers.signals import Signals, fresh
from schedulers.state import NOTHING


class BudgetState(NamedTuple):
    """``misses``: each tenant's share of late requests, a moving mean."""

    ledger: Ledger = Ledger()
    kv_tokens: int | None = None
    prefill_rate: float | None = None
    misses: Mapping[str, float] = NOTHING


@admission_law
@dataclass(frozen=True, slots=True)
class ThreeBudgets:
    """The queueing source's admission, with its contradiction on the KV reserve resolved::

        compute   prompts not yet computed ≤ compute_s × prefill rate
        KV        Σ (prompt + expected output) ≤ kv_usable × oversubscribe × K
        SLO       expected TTFT = backlog / prefill rate must end before the deadline; a tenant
                  whose misses exceed 1 − attainment must reach ``strict`` of it

    What can't meet its deadline is shed at once, for an early refusal beats a late answer; what
    only lacks room waits. In the source kv_reserve_ratio is what may be used in one place and what
    is kept free in another: here ``kv_usable`` is what may be used.
    """

    name: ClassVar[str] = "three_budgets"
    summary: ClassVar[str] = (
        "Three budgets must hold: prefill work, KV with oversubscription, and the tenant's "
        "deadline; what could not meet it is shed early."
    )
    standing: ClassVar[Standing] = Standing.REFERENCE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Oversubscribing means without their spread: 0.85 × 1.3 promises 1.1 times the cache, "
            "and where outputs run long together, running requests are preempted."
        ),
        Fault("Tiers are not told apart: batch fills the budgets before vip comes."),
    )

    kv_usable: float = parameter(
        default=0.85, minimum=0.1, maximum=1.0, help="Share of the KV cache that may be promised."
    )
    oversubscribe: float = parameter(
        default=1.3, minimum=1.0, maximum=4.0, help="How many times it may be promised."
    )
    compute_s: float = parameter(
        default=1.0, minimum=0.01, maximum=600.0, unit="s", help="Prefill work that may be queued."
    )
    attainment: float = parameter(
        default=0.99,
        minimum=0.5,
        maximum=0.9999,
        help="Share of a tenant's requests to be in time.",
    )
    strict: float = parameter(
        default=0.8,
        minimum=0.1,
        maximum=1.0,
        help="Share of the time to the deadline that a tenant over its misses may need.",
    )
    output_tokens: float = parameter(
        default=512.0,
        minimum=1.0,
        maximum=1e6,
        unit="tokens",
        help="Output that is assumed before any was seen.",
    )

    def start(self) -> BudgetState:
        return BudgetState()

    def offer(
        self, state: BudgetState, request: Request, seen: Signals | None, now: float
    ) -> tuple[BudgetState, Answer]:
        reading = fresh(seen, now)
        if reading is not None:
            state = state._replace(
                kv_tokens=reading.kv_tokens or state.kv_tokens,
                prefill_rate=reading.prefill_rate or state.prefill_rate,
            )
        ledger, one = state.ledger, self._reservation(state, request)
        tokens = one.tokens
        late = self._hopeless(state, request, now)
        if late is not None:
            return state, late
        lacking = self._lacking(state, one)
        if lacking is not None and ledger.admitted > 0:
            stale = seen is not None and reading is None
            reason = Reason.STALE_SIGNALS if stale else lacking
            return state, hold(reason, math.inf, tokens=tokens, promised=ledger.tokens)
        return state._replace(ledger=ledger.add(tokens, 0.0, one.prefill)), Answer(
            action=Action.ADMIT,
            reason=Reason.ADMITTED if lacking is None else Reason.SERVED_ALONE,
            reservation=one,
            inputs={"tokens": tokens, "promised": ledger.tokens + tokens},
        )

    def reserve(
        self, state: BudgetState, request: Request, *, prefilled: bool, now: float
    ) -> tuple[BudgetState, Reservation]:
        one = self._reservation(state, request)
        one = one._replace(prefill=0.0) if prefilled else one
        return state._replace(ledger=state.ledger.add(one.tokens, 0.0, one.prefill)), one

    def _reservation(self, state: BudgetState, request: Request) -> Reservation:
        mean = state.ledger.length(request.tenant, self.output_tokens).mean
        tokens = request.prompt_tokens + request.output(mean, self.output_tokens)
        return Reservation(tokens, 0.0, float(request.uncached_tokens))

    def _hopeless(self, state: BudgetState, request: Request, now: float) -> Answer | None:
        if request.deadline_at is None or state.prefill_rate is None:
            return None
        needed = (state.ledger.prefill + request.uncached_tokens) / state.prefill_rate
        spent = state.misses.get(request.tenant, 0.0) > 1.0 - self.attainment
        left = (request.deadline_at - now) * (self.strict if spent else 1.0)
        if needed <= left:
            return None
        reason = Reason.TENANT_BUDGET if spent and needed <= left / self.strict else Reason.HOPELESS
        return shed(reason, max(1.0, needed), needed=needed, left=left)

    def _lacking(self, state: BudgetState, one: Reservation) -> Reason | None:
        if state.kv_tokens is not None:
            room = self.kv_usable * self.oversubscribe * state.kv_tokens
            if state.ledger.tokens + one.tokens > room:
                return Reason.KV_CEILING
        if state.prefill_rate is None or state.ledger.prefill == 0.0:
            return None
        over = state.ledger.prefill + one.prefill > self.compute_s * state.prefill_rate
        return Reason.PREFILL_BACKLOG if over else None

    def prefilled(self, state: BudgetState, reservation: Reservation, now: float) -> BudgetState:
        return state._replace(ledger=state.ledger.prefilled(reservation.prefill))

    def ended(self, state: BudgetState, over: Ended, now: float) -> BudgetState:
        one, tenant = over.reservation, over.request.tenant
        ledger = state.ledger.remove(one.tokens, 0.0, 0.0 if over.prefilled else one.prefill)
        misses = state.misses
        if over.kind == "ok" and over.output_tokens is not None:
            ledger = ledger.learned(tenant, float(over.output_tokens), self.output_tokens)
        if over.late is not None:
            mean = misses.get(tenant, 0.0)
            misses = {**misses, tenant: mean + 0.02 * (float(over.late) - mean)}
        return state._replace(ledger=ledger, misses=misses)

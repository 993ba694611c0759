"""Tiers in strict order, but each has a minimum share, and ageing within its tier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from documents.fields import parameter
from schedulers.law import Fault, Standing
from schedulers.ordering.base import Backlog, Charge, Memoryless, Rank, Waiting, ordering_law
from schedulers.shares import Credit


@ordering_law
@dataclass(frozen=True, slots=True)
class Priority(Memoryless):
    """vip before normal before batch, within a tier by arrival.

    While a tier waits it earns its minimum share of all that is served (in tokens, output twice)
    and goes first once it is owed its next request: so a batch request waits no longer than the
    cost of those before it in its tier, divided by the share. Ageing moves a request within its
    tier, never out of it: ageing into a higher tier ends as first come, first served.
    """

    name: ClassVar[str] = "priority"
    summary: ClassVar[str] = (
        "Tiers in strict order with a minimum share for the lower ones; by arrival within a tier."
    )
    fifo_within_tenant: ClassVar[bool] = True
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault("Not fair within a tier: one tenant's burst delays all others of its tier."),
    )

    normal_share: float = parameter(
        default=0.10, minimum=0.0, maximum=0.5, help="Share of tokens that normal is owed; 0: none."
    )
    batch_share: float = parameter(
        default=0.05, minimum=0.0, maximum=0.5, help="Share of tokens that batch is owed; 0: none."
    )

    def start(self) -> Credit:  # type: ignore[override]
        return Credit()

    def rank(self, state: Credit, one: Waiting, now: float) -> Rank:
        request = one.request
        first = 0.0 if state.due(request.tier, cost(one)) else 1.0
        return (first, float(request.band), request.arrived_at, float(request.serial))

    def left(self, state: Credit, one: Waiting, others: Backlog, now: float) -> Credit:
        shares = {"normal": self.normal_share, "batch": self.batch_share}
        return state.served(one.request.tier, cost(one), others.tiers, shares)

    def charge(self, before: Credit, after: Credit, one: Waiting, now: float) -> Charge:
        return Charge(0.0, after.since(before), now)

    def refused(self, state: Credit, one: Waiting, charge: Charge, now: float) -> Credit:
        return state.refunded(one.request.tier, charge.owed)


def cost(one: Waiting) -> float:
    """Weighted tokens: output is twice as dear."""
    return one.request.prompt_tokens + 2.0 * one.request.output()

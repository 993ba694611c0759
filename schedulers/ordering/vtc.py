"""Virtual token counters: weighted fair shares among tenants, tiers above them by option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from documents.fields import parameter
from schedulers.law import Fault, Standing
from schedulers.ordering.base import Backlog, Charge, Memoryless, Rank, Waiting, ordering_law
from schedulers.shares import Credit
from schedulers.state import NOTHING


class Counters(NamedTuple):
    """Weighted tokens / weight that each tenant was charged."""

    spent: Mapping[str, float] = NOTHING
    credit: Credit = Credit()

    def plus(self, tenant: str, amount: float) -> Counters:
        """A tenant was charged, or given back."""
        total = self.spent.get(tenant, 0.0) + amount
        return Counters({**self.spent, tenant: total}, self.credit)


@ordering_law
@dataclass(frozen=True, slots=True)
class Vtc(Memoryless):
    """The tenant with the smallest counter goes first; cost = input + output_weight × output, over
    its weight. Charged with the expected output when sent, settled when over; what an engine
    refused is given back. Who comes back after
    a pause is lifted to the smallest counter of those that wait, so that idling saves nothing up.

    Among backlogged tenants shares of service follow the weights within one largest request
    (Sheng et al., OSDI 2024). ``bands`` puts tiers above tenants, with minimum shares as in
    ``priority``.
    """

    name: ClassVar[str] = "vtc"
    summary: ClassVar[str] = (
        "Virtual token counters: the tenant that was charged least for its weight goes first, "
        "within its tier; tokens in and out are counted."
    )
    fifo_within_tenant: ClassVar[bool] = True
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "Knows no deadlines and no prefixes: fair shares cost cache hits where tenants "
            "alternate."
        ),
    )

    bands: bool = parameter(default=True, help="Tiers first, counters within a tier.")
    output_weight: float = parameter(
        default=2.0, minimum=0.0, maximum=100.0, help="What an output token counts."
    )
    normal_share: float = parameter(
        default=0.10, minimum=0.0, maximum=0.5, help="With bands: share that normal is owed."
    )
    batch_share: float = parameter(
        default=0.05, minimum=0.0, maximum=0.5, help="With bands: share that batch is owed."
    )

    def start(self) -> Counters:  # type: ignore[override]
        return Counters()

    def arrived(self, state: Counters, one: Waiting, others: Backlog, now: float) -> Counters:
        tenant = one.request.tenant
        if tenant in others.tenants or not others.tenants:
            return state
        active = [state.spent.get(who, 0.0) for who in others.tenants]
        lifted = max(state.spent.get(tenant, 0.0), min(active))
        return Counters({**state.spent, tenant: lifted}, state.credit)

    def rank(self, state: Counters, one: Waiting, now: float) -> Rank:
        request = one.request
        counter = (state.spent.get(request.tenant, 0.0), request.arrived_at, float(request.serial))
        if not self.bands:
            return counter
        due = state.credit.due(request.tier, self._cost(one, request.output()))
        return (0.0 if due else 1.0, float(request.band), *counter)

    def left(self, state: Counters, one: Waiting, others: Backlog, now: float) -> Counters:
        cost = self._cost(one, one.request.output())
        shares = {"normal": self.normal_share, "batch": self.batch_share}
        credit = state.credit.served(one.request.tier, cost, others.tiers, shares)
        charged = state.plus(one.request.tenant, cost / max(1e-9, one.request.weight))
        return Counters(charged.spent, credit)

    def charge(self, before: Counters, after: Counters, one: Waiting, now: float) -> Charge:
        tenant = one.request.tenant
        amount = after.spent.get(tenant, 0.0) - before.spent.get(tenant, 0.0)
        return Charge(amount, after.credit.since(before.credit), now)

    def refused(self, state: Counters, one: Waiting, charge: Charge, now: float) -> Counters:
        back = state.plus(one.request.tenant, -charge.amount)
        return Counters(back.spent, state.credit.refunded(one.request.tier, charge.owed))

    def ended(
        self,
        state: Counters,
        one: Waiting,
        output_tokens: int | None,
        now: float,
    ) -> Counters:
        if output_tokens is None or output_tokens < 0:
            return state
        owed = self.output_weight * (output_tokens - one.request.output())
        return state.plus(one.request.tenant, owed / max(1e-9, one.request.weight))

    def _cost(self, one: Waiting, output: float) -> float:
        return one.request.prompt_tokens + self.output_weight * output

"""Least attained service: the tenant that got least of late goes first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from documents.fields import parameter
from schedulers.law import Fault, Standing
from schedulers.ordering.base import Backlog, Charge, Memoryless, Rank, Waiting, ordering_law
from schedulers.state import NOTHING


class Attained(NamedTuple):
    """Service of each tenant in weighted tokens, as it stands at ``at``."""

    service: Mapping[str, float] = NOTHING
    at: float | None = None

    def faded(self, now: float, half_life_s: float) -> Attained:
        """Time has passed: what was given long ago counts less. A backward clock fades nothing."""
        if self.at is None:
            return Attained(self.service, now)
        if not math.isfinite(now) or now <= self.at:
            return self
        factor = 0.5 ** ((now - self.at) / half_life_s)
        kept = {who: value * factor for who, value in self.service.items() if value * factor > 1e-3}
        return Attained(kept, now)

    def plus(self, who: str, tokens: float) -> Attained:
        """More was given to one; it never falls below nothing."""
        total = max(0.0, self.service.get(who, 0.0) + tokens)
        return Attained({**self.service, who: total}, self.at)


@ordering_law
@dataclass(frozen=True, slots=True)
class Las(Memoryless):
    """By the tenant's service / weight, which halves each ``half_life_s``; input counts 1, output
    ``output_weight``. Charged when sent, settled when over, given back where an
    engine refused it. Source: llm-d's LAS fairness."""

    name: ClassVar[str] = "las"
    summary: ClassVar[str] = (
        "Least attained service: the tenant that was served least of late goes first; the past "
        "fades by a half-life."
    )
    fifo_within_tenant: ClassVar[bool] = True
    standing: ClassVar[Standing] = Standing.AVAILABLE
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault(
            "The past fades, so who comes rarely is always first: over longer spans than the "
            "half-life it guarantees no share."
        ),
    )

    half_life_s: float = parameter(
        default=60.0, minimum=0.1, maximum=86_400.0, unit="s", help="How fast the past fades."
    )
    output_weight: float = parameter(
        default=2.0, minimum=0.0, maximum=100.0, help="What an output token counts."
    )

    def start(self) -> Attained:  # type: ignore[override]
        return Attained()

    def rank(self, state: Attained, one: Waiting, now: float) -> Rank:
        request = one.request
        service = state.service.get(request.tenant, 0.0)
        return (service / max(1e-9, request.weight), request.arrived_at, float(request.serial))

    def left(self, state: Attained, one: Waiting, others: Backlog, now: float) -> Attained:
        return state.faded(now, self.half_life_s).plus(one.request.tenant, self._tokens(one))

    def charge(self, before: Attained, after: Attained, one: Waiting, now: float) -> Charge:
        return Charge(self._tokens(one), at=now)

    def refused(self, state: Attained, one: Waiting, charge: Charge, now: float) -> Attained:
        faded = state.faded(now, self.half_life_s)
        since = max(0.0, (faded.at if faded.at is not None else now) - charge.at)
        left = charge.amount * 0.5 ** (since / self.half_life_s)
        return faded.plus(one.request.tenant, -left)

    def ended(
        self, state: Attained, one: Waiting, output_tokens: int | None, now: float
    ) -> Attained:
        faded = state.faded(now, self.half_life_s)
        if output_tokens is None or output_tokens < 0:
            return faded
        owed = self.output_weight * (output_tokens - one.request.output())
        return faded.plus(one.request.tenant, owed)

    def _tokens(self, one: Waiting) -> float:
        return one.request.prompt_tokens + self.output_weight * one.request.output()

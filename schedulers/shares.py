"""Minimum shares: a tier that waits earns credit while others are served, and spends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from schedulers.state import NOTHING


class Credit(NamedTuple):
    """Cost that each tier is owed. It earns only while it waits, so absence saves nothing up."""

    owed: Mapping[str, float] = NOTHING

    def due(self, tier: str, cost: float) -> bool:
        """It is owed as much as this request costs: it goes before more urgent tiers."""
        return self.owed.get(tier, 0.0) >= cost

    def served(
        self, tier: str, cost: float, waiting: frozenset[str], shares: Mapping[str, float]
    ) -> Credit:
        """One of ``tier`` went; the tiers in ``waiting`` earn their share, others lose theirs."""
        total = {
            other: self.owed.get(other, 0.0) + share * cost
            for other, share in shares.items()
            if other in waiting and share > 0.0
        }
        if tier in total:
            total[tier] = max(0.0, total[tier] - cost)
        return Credit(total)

    def since(self, before: Credit) -> Mapping[str, float]:
        """How much more each tier is owed than before; less than nothing where it is less."""
        changes = {
            tier: self.owed.get(tier, 0.0) - before.owed.get(tier, 0.0)
            for tier in self.owed.keys() | before.owed.keys()
        }
        return {tier: change for tier, change in changes.items() if change}

    def refunded(self, tier: str, changes: Mapping[str, float]) -> Credit:
        """One of ``tier`` that went was not served: what others earned by it is gone, and what its
        tier spent is back. Who lost its credit by being absent stays without."""
        total = dict(self.owed)
        for other, change in changes.items():
            if change > 0.0 or other == tier:
                total[other] = max(0.0, total.get(other, 0.0) - change)
        return Credit(total)

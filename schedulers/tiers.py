"""Tiers: the three bands that traffic is sorted into, the most urgent first."""

from __future__ import annotations

from collections.abc import Mapping

TIERS = ("vip", "normal", "batch")
PLACES: Mapping[str, int] = {tier: place for place, tier in enumerate(TIERS)}
"""By name, for who asks often."""


def place(tier: str) -> int:
    """0 for vip, 1 for normal, 2 for batch; what is none of them counts as normal."""
    return PLACES.get(tier, 1)

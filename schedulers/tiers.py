"""Tiers: the three bands that traffic is sorted into, the most urgent first."""

from __future__ import annotations

TIERS = ("vip", "normal", "batch")
_PLACES = {tier: place for place, tier in enumerate(TIERS)}


def place(tier: str) -> int:
    """0 for vip, 1 for normal, 2 for batch; what is none of them counts as normal."""
    return _PLACES.get(tier, 1)

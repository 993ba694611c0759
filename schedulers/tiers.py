"""Tiers: the three bands that traffic is sorted into, the most urgent first."""

from __future__ import annotations

TIERS = ("vip", "normal", "batch")


def place(tier: str) -> int:
    """0 for vip, 1 for normal, 2 for batch; what is none of them counts as normal."""
    return TIERS.index(tier) if tier in TIERS else 1

"""One comparison of the model with something outside it, and the bar that it is held to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """``error`` and ``bar`` are shares of 1; the bar is an upper bound."""

    name: str
    against: str
    """What it is compared with."""
    error: float
    bar: float
    more: str = ""
    """What else to know: worst point, number of points."""

    @property
    def met(self) -> bool:
        return self.error <= self.bar

"""How many equal instances a load and an SLO need, and how far below its knee one runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from measurement.capacity.knee import RECOMMENDED, RepeatedKnee
from measurement.capacity.observed import Observed

ASSUMES = (
    "instances are equal, and load is split evenly between them",
    "each behaves as the one that was measured",
    "the mix of requests stays as it was measured",
)
SHARE = sum(RECOMMENDED) / 2
"""Of the knee that an instance is given: the middle of the recommended range."""


@dataclass(frozen=True, slots=True)
class Instances:
    """``needed`` is None where nothing measured bounds a single instance."""

    needed: int | None
    low: int | None
    high: int | None
    each: float | None
    """Requests/s that one instance is given."""
    because: str
    assumes: tuple[str, ...] = ASSUMES

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "needed": self.needed,
            "low": self.low,
            "high": self.high,
            "each": self.each,
            "because": self.because,
            "assumes": list(self.assumes),
        }


def slo_load(points: Sequence[Observed], target: float) -> float | None:
    """The highest load up to which attainment holds the target, interpolated; None if never.

    The highest measured load where it holds at every one.
    """
    ladder = sorted((p for p in points if p.attainment is not None), key=lambda p: p.rate)
    held: Observed | None = None
    for point in ladder:
        if (point.attainment or 0.0) < target:
            return None if held is None else _between(held, point, target)
        held = point
    return held.rate if held else None


def needed(
    load: float, *, knee: RepeatedKnee, slo: float | None = None, share: float = SHARE
) -> Instances:
    """Instances for ``load`` requests/s, each given ``share`` of the knee, and never more than
    the SLO's load; the interval is the knee's."""
    if knee.load is None and slo is None:
        return Instances(None, None, None, None, f"no knee is known: {knee.because}")
    each, because = _each(knee.load, slo, share)
    high = _each(knee.low, slo, share)[0] if knee.low else None
    low = _each(knee.high, slo, share)[0] if knee.high else None
    return Instances(
        needed=_count(load, each),
        low=_count(load, low) if low else None,
        high=_count(load, high) if high else None,
        each=each,
        because=because,
    )


def headroom(load: float, knee: float) -> float:
    """The share of the knee that is left at that load; negative past it."""
    return 1 - load / knee


def _each(knee: float | None, slo: float | None, share: float) -> tuple[float, str]:
    bounds = []
    if knee is not None:
        bounds.append((share * knee, f"{100 * share:.0f} % of the knee at {knee:.3g} requests/s"))
    if slo is not None:
        bounds.append((slo, f"the SLO holds up to {slo:.3g} requests/s"))
    return min(bounds)


def _count(load: float, each: float) -> int:
    """A hair over a whole number is that number: floats don't buy a machine."""
    return max(1, math.ceil(load / each - 1e-9))


def _between(held: Observed, missed: Observed, target: float) -> float:
    top, bottom = held.attainment or 0.0, missed.attainment or 0.0
    share = (top - target) / (top - bottom)
    return held.rate + share * (missed.rate - held.rate)
